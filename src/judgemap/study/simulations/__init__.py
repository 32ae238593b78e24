"""The paper's simulation studies: many sets of strengths, each simulated, fitted and measured separately.

A study is a frozen value that holds its settings (`Scalability`, `Clustering`, `Scheduling`, `Robustness`); `runner`
runs any of them set by set into a folder, and resumes where it stopped; `backends` decides on which machines.
"""
