module go.etcd.io/etcd/client/v3

go 1.26.0

require go.etcd.io/etcd v0.5.0-alpha.5.0.20210428180535-15715dcf1ace

require go.uber.org/zap v1.27.0
require github.com/google/uuid v1.6.0
