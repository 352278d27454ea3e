"""`python -m minicluster.cli`."""

from minicluster.cli.main import run

if __name__ == "__main__":
    run()
