"""From frozen broker settings to the files a Flux broker reads. Pure: no I/O, no clock."""
