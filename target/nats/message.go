package nats

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"

	"github.com/lockstep-go/lockstep/bubble/wire"
)

// routes names the data that servers write to each other: lines of a verb and arguments. A message has its payload
// after the line, which ends with the payload's size.
func routes(wire.Conn) wire.Decoder {
	var from, back route
	return wire.DecoderFunc(func(byDialer bool, data []byte) (kind, text string) {
		if byDialer {
			return from.feed(data)
		}
		return back.feed(data)
	})
}

// route is one direction of a connection.
type route struct {
	rest []byte // the beginning of a line
	skip int    // bytes of a payload to come
}

// feed names the data of one write: by the first line, with all others in the text.
func (r *route) feed(data []byte) (kind, text string) {
	if r.skip >= len(data) && len(data) > 0 {
		r.skip -= len(data)
		return "payload", fmt.Sprintf("[%08x]", crc32.ChecksumIEEE(data))
	}
	skipped := min(r.skip, len(data))
	r.rest = append(r.rest, data[skipped:]...)
	r.skip -= skipped
	var lines []said
	for {
		line, after, whole := bytes.Cut(r.rest, []byte("\r\n"))
		if !whole {
			break
		}
		lines = append(lines, described(string(line)))
		size := payloadSize(string(line))
		if n := min(size, len(after)); n < size {
			r.skip = size - n
		}
		r.rest = after[min(size, len(after)):]
	}
	const longest = 1 << 16
	if len(r.rest) > longest {
		r.rest = nil
	}
	texts := folded(lines)
	if len(lines) > 0 {
		kind = lines[0].kind
		texts[0] = strings.TrimPrefix(strings.TrimPrefix(texts[0], kind), " ")
	}
	// The checksum lets traces show whether bytes are the same.
	return kind, fmt.Sprintf("%s [%08x]", strings.Join(texts, "; "), crc32.ChecksumIEEE(data))
}

// said is a line as text: a type, and its subject.
type said struct{ kind, about string }

// folded formats lines as texts. If a server adds or drops interest in many subjects, the text has only their number.
func folded(lines []said) (texts []string) {
	const most = 2
	for len(lines) > 0 {
		alike := 1
		for alike < len(lines) && lines[alike].kind == lines[0].kind && strings.HasPrefix(lines[0].kind, "RS") {
			alike++
		}
		if alike > most {
			texts = append(texts, fmt.Sprintf("%s %d subjects", lines[0].kind, alike))
		} else {
			alike = 1
			texts = append(texts, strings.TrimSpace(lines[0].kind+" "+lines[0].about))
		}
		lines = lines[alike:]
	}
	return texts
}

// payloadSize is the size of the payload after a line, including its end.
func payloadSize(line string) int {
	words := strings.Fields(line)
	if len(words) < 3 || !strings.HasSuffix(words[0], "MSG") && !strings.HasSuffix(words[0], "PUB") {
		return 0
	}
	size, err := strconv.Atoi(words[len(words)-1])
	if err != nil || size < 0 {
		return 0
	}
	return size + len("\r\n")
}

// raftSubjects are the subjects of the server's raft: the prefix of each, and its meaning.
var raftSubjects = []struct{ prefix, is string }{
	{"$NRG.V.", "vote?"}, {"$NRG.AE.", "append"}, {"$NRG.P.", "propose"}, {"$NRG.RP.", "remove peer"},
	{"$NRG.R.", "raft answer"}, {"$NRG.CR.", "catch up"},
}

// described is a line as text.
func described(line string) said {
	verb, rest, _ := strings.Cut(line, " ")
	if !strings.HasSuffix(verb, "MSG") {
		return said{verb, shorten(rest)}
	}
	words := strings.Fields(rest)
	if len(words) > 0 && (words[0] == "$G" || words[0] == "$SYS") { // the account, if the connection is for several
		words = words[1:]
	}
	if len(words) == 0 {
		return said{verb, ""}
	}
	subject := words[0]
	for _, s := range raftSubjects {
		if group, ok := strings.CutPrefix(subject, s.prefix); ok {
			return said{s.is, group}
		}
	}
	return said{verb, shorten(subject)}
}

// shorten cuts a long text.
func shorten(text string) string {
	const most = 100
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}
