"""A command as a plug-in may have it."""

import typer

app = typer.Typer()


@app.command()
def greet(name: str) -> None:
    """Greet somebody."""
    typer.echo(f"hello {name}")
