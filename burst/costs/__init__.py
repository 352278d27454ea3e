"""What bursts cost, for people: by scope and period, beside budgets; alarms; and a report over time."""
