"""The paper's simulation studies: many sets of strengths, each simulated, fitted and measured on its own.

A study is a frozen value that holds its settings (`Scalability`, `Clustering`, `Scheduling`); `runner` runs any of them
set by set into a folder, and goes on where it stopped; `backends` says on which machines.
"""
