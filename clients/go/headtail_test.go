package sidecall_test

import (
	"bytes"
	"strings"
	"testing"

	sidecall "github.com/sidecall/sidecall/clients/go"
)

func TestHeadTailKeepsBothEndsAndCountsTheMiddle(t *testing.T) {
	for _, test := range []struct {
		capacity int
		writes   []string
		want     string
		omitted  uint64
	}{
		{10, nil, "", 0},
		{10, []string{"0123456789"}, "0123456789", 0},
		{10, []string{"01234", "56789", "abc"}, "01234\n... 3 bytes omitted ...\n89abc", 3},
		{10, []string{"0123456789abcdef"}, "01234\n... 6 bytes omitted ...\nbcdef", 6},
		{3, strings.Split("abcdefg", ""), "a\n... 4 bytes omitted ...\nfg", 4},
		{10, []string{"0", "123456", "7890", "a"}, "01234\n... 2 bytes omitted ...\n7890a", 2},
	} {
		buffer := sidecall.NewHeadTail(test.capacity)
		var all strings.Builder
		for _, text := range test.writes {
			all.WriteString(text)
			if count, err := buffer.Write([]byte(text)); count != len(text) || err != nil {
				t.Errorf("wrote %d of %q, %v", count, text, err)
			}
		}
		output := buffer.ExecOutput(sidecall.Truncation{Tokens: 1})
		if string(output.Output) != test.want || output.OmittedBytes != test.omitted {
			t.Errorf("%q in %d: %q, %d omitted",
				test.writes, test.capacity, output.Output, output.OmittedBytes)
		}
		if want := uint64(all.Len()+3) / 4; *output.OriginalTokens != want {
			t.Errorf("%q: %d tokens", test.writes, *output.OriginalTokens)
		}
	}
}

func TestTheZeroHeadTailHasAMebibyte(t *testing.T) {
	var buffer sidecall.HeadTail
	written := bytes.Repeat([]byte("x"), sidecall.CollectionBufferBytes+1)
	if _, err := buffer.Write(written); err != nil || buffer.OmittedBytes() != 1 {
		t.Errorf("%d bytes omitted, %v", buffer.OmittedBytes(), err)
	}
}
