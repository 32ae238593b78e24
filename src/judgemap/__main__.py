"""`python -m judgemap`: the command line."""

from judgemap.cli.main import main

if __name__ == "__main__":
    main()
