library(testthat)
library(judgemap)

test_check("judgemap")
