package wire

// For tests: what the codec for protocol buffers writes and reads.
func MarshalProto(m any) ([]byte, error)   { return protoCodec{}.Marshal(m) }
func UnmarshalProto(b []byte, m any) error { return protoCodec{}.Unmarshal(b, m) }
