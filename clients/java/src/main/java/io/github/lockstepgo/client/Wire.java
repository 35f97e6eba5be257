package io.github.lockstepgo.client;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/** The wire format of protocol buffers, as far as the protocol needs it. */
final class Wire {
    private Wire() {}

    /** Writes the fields of a message. What is zero or empty is left out. */
    static final class Writer {
        private final ByteArrayOutputStream out = new ByteArrayOutputStream();

        Writer number(int field, long value) {
            if (value != 0) {
                varint((long) field << 3);
                varint(value);
            }
            return this;
        }

        Writer text(int field, String value) {
            return bytes(field, value.getBytes(StandardCharsets.UTF_8));
        }

        Writer bytes(int field, byte[] value) {
            if (value.length > 0) {
                message(field, value);
            }
            return this;
        }

        Writer message(int field, byte[] value) {
            varint((long) field << 3 | 2);
            varint(value.length);
            out.write(value, 0, value.length);
            return this;
        }

        private void varint(long value) {
            while ((value & ~0x7fL) != 0) {
                out.write((int) (value & 0x7f | 0x80));
                value >>>= 7;
            }
            out.write((int) value);
        }

        byte[] toBytes() {
            return out.toByteArray();
        }
    }

    /** Takes the fields of a message one after the other. */
    interface Reader {
        default void number(int field, long value) {}

        default void bytes(int field, byte[] value) {}
    }

    static void read(byte[] message, Reader reader) {
        ByteBuffer in = ByteBuffer.wrap(message);
        while (in.hasRemaining()) {
            long tag = varint(in);
            int field = (int) (tag >>> 3);
            switch ((int) (tag & 7)) {
                case 0:
                    reader.number(field, varint(in));
                    break;
                case 1:
                    skip(in, 8);
                    break;
                case 2:
                    long length = varint(in);
                    if (length < 0 || length > in.remaining()) {
                        throw new IllegalArgumentException(
                                "a field of " + length + " bytes where " + in.remaining() + " are left");
                    }
                    byte[] value = new byte[(int) length];
                    in.get(value);
                    reader.bytes(field, value);
                    break;
                case 5:
                    skip(in, 4);
                    break;
                default:
                    throw new IllegalArgumentException("a field of an unknown type");
            }
        }
    }

    private static void skip(ByteBuffer in, int bytes) {
        if (bytes > in.remaining()) {
            throw new IllegalArgumentException("a message that ends in the middle");
        }
        in.position(in.position() + bytes);
    }

    private static long varint(ByteBuffer in) {
        long value = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            if (!in.hasRemaining()) {
                throw new IllegalArgumentException("a message that ends in the middle");
            }
            byte b = in.get();
            value |= (long) (b & 0x7f) << shift;
            if (b >= 0) {
                return value;
            }
        }
        throw new IllegalArgumentException("a number of more than ten bytes");
    }

    static String text(byte[] value) {
        return new String(value, StandardCharsets.UTF_8);
    }

    /** A message in two parts, with its length before it. */
    static byte[] frame(byte[] head, byte[] rest) {
        return ByteBuffer.allocate(5 + head.length + rest.length).put((byte) 0).putInt(head.length + rest.length)
                .put(head).put(rest).array();
    }

    static byte[] hello(int node, Map<String, String> info) {
        Writer w = new Writer().number(1, node);
        for (Map.Entry<String, String> e : info.entrySet()) {
            w.message(2, new Writer().text(1, e.getKey()).text(2, e.getValue()).toBytes());
        }
        return w.toBytes();
    }

    /** An order. Its fields are those of the definition. */
    static final class Order implements Reader {
        static final int ASK = 0;
        static final int WELCOME = 1;
        static final int RESET = 2;
        static final int DELIVER = 3;
        static final int FIRE = 4;
        static final int REQUEST = 5;
        static final int STOP = 6;
        static final int START = 7;

        int kind;
        int number;
        int run;
        int session;
        int nodes;
        long seed;
        boolean texts;
        int from;
        String type = "";
        byte[] body = {};
        int request;
        String text = "";
        long now;
        final Map<Integer, Map<String, String>> replicas = new LinkedHashMap<>();

        Order(byte[] message) {
            read(message, this);
        }

        @Override
        public void number(int field, long value) {
            switch (field) {
                case 1: kind = (int) value; break;
                case 2: number = (int) value; break;
                case 3: run = (int) value; break;
                case 4: session = (int) value; break;
                case 5: nodes = (int) value; break;
                case 6: seed = value; break;
                case 7: texts = value != 0; break;
                case 8: from = (int) value; break;
                case 11: request = (int) value; break;
                case 13: now = value; break;
                default: // of a later version
            }
        }

        @Override
        public void bytes(int field, byte[] value) {
            switch (field) {
                case 9: type = Wire.text(value); break;
                case 10: body = value; break;
                case 12: text = Wire.text(value); break;
                case 14: replica(value); break;
                default: // of a later version
            }
        }

        private void replica(byte[] hello) {
            int[] node = {0};
            Map<String, String> info = new LinkedHashMap<>();
            read(hello, new Reader() {
                @Override
                public void number(int field, long value) {
                    node[0] = (int) value;
                }

                @Override
                public void bytes(int field, byte[] entry) {
                    String[] pair = {"", ""};
                    read(entry, new Reader() {
                        @Override
                        public void bytes(int field, byte[] value) {
                            pair[field - 1 & 1] = Wire.text(value);
                        }
                    });
                    info.put(pair[0], pair[1]);
                }
            });
            replicas.put(node[0], info);
        }
    }
}
