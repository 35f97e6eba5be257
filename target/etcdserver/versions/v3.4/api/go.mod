module go.etcd.io/etcd/api/v3

go 1.26.0

require go.etcd.io/etcd v0.5.0-alpha.5.0.20210428180535-15715dcf1ace
