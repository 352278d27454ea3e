# Flux's rc1 loads what it knows; this adds the lead's door.
def setup(context):
    context.load_modules(["minicluster-door"])
