module github.com/cometbft/cometbft/lockstep

go 1.26.0

require github.com/cometbft/cometbft v1.0.1
