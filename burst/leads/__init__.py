"""The leads whose jobs burst: `lead` is what bursting asks of one, `instance_lead` asks it over the port."""
