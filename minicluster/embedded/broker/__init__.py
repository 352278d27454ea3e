"""One broker process: bring-up, its local socket, and on the lead the modules and the job engine."""
