"""`python -m fencecheck`."""

from fencecheck.cli import main

if __name__ == "__main__":
    main()
