"""The paper's simulation studies: many sets of strengths, each simulated, fitted and measured separately.

A study is a frozen value that holds its settings (`Scalability`, `Clustering`, `Scheduling`); `runner` runs any of them
set by set into a folder, and resumes where it stopped; `backends` says on which machines.
"""
