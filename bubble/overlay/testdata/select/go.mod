module select

go 1.25
