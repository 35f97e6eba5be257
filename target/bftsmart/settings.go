package bftsmart

// settings are those of BFT-SMaRt. There are no signatures and no authentication codes between replicas, so that
// messages can be forged; replicas write nothing to disk.
const settings = `system.communication.useSenderThread = true
system.communication.defaultkeys = true
system.communication.useMACs = 0
system.communication.useSignatures = 0
system.communication.inQueueSize = 500000
system.communication.outQueueSize = 500000
system.servers.num = 4
system.servers.f = 1
system.initial.view = 0,1,2,3
system.ttp.id = 7002
system.bft = true
system.debug = 0
system.shutdownhook = false
system.totalordermulticast.maxbatchsize = 400
system.totalordermulticast.nonces = 10
system.totalordermulticast.verifyTimestamps = false
system.totalordermulticast.state_transfer = true
system.totalordermulticast.highMark = 10000
system.totalordermulticast.revival_highMark = 10
system.totalordermulticast.timeout_highMark = 200
system.totalordermulticast.log = true
system.totalordermulticast.log_parallel = false
system.totalordermulticast.log_to_disk = false
system.totalordermulticast.sync_log = false
system.totalordermulticast.checkpoint_period = 1000
system.totalordermulticast.global_checkpoint_period = 120000
system.totalordermulticast.checkpoint_to_disk = false
system.totalordermulticast.sync_ckp = false
`
