package catalog

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"regexp"
	"strconv"
	"strings"
)

// dirVersion is the content of the file VERSION (V5). The format is the second line, so that every
// release can recognise a newer format; a release that raises it keeps the first three lines and
// the last.
type dirVersion struct {
	format  int
	product string
	Identity
}

const dirMagic = "Sherd data directory"

var (
	uuidForm    = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	productForm = regexp.MustCompile(`^[0-9A-Za-z.+-]{1,64}$`)
)

// text returns the content of the file. Its last line is a checksum of the lines before it.
func (v dirVersion) text() []byte {
	body := fmt.Sprintf("%s\nformat %d\nproduct %s\ncluster %s\nnode %d\n", dirMagic, v.format, v.product, v.ClusterID,
		v.NodeID)
	return fmt.Appendf(nil, "%scrc32 %08x\n", body, crc32.ChecksumIEEE([]byte(body)))
}

// parseVersion reads the file. Of a newer format only format and product are read.
func parseVersion(data []byte) (dirVersion, error) {
	var v dirVersion
	body, sum, ok := bytes.Cut(data, []byte("crc32 "))
	if !bytes.HasPrefix(data, []byte(dirMagic+"\n")) {
		return v, fmt.Errorf("it does not begin with %q", dirMagic)
	}
	if want := fmt.Sprintf("%08x\n", crc32.ChecksumIEEE(body)); !ok || string(sum) != want {
		return v, fmt.Errorf("its checksum is wrong")
	}
	fields := map[string]string{}
	for line := range strings.Lines(string(body[len(dirMagic)+1:])) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		fields[name] = value
	}
	format, err := strconv.Atoi(fields["format"])
	if err != nil || format < 1 {
		return v, fmt.Errorf("its format %q is no number", fields["format"])
	}
	v.format, v.product = format, fields["product"]
	if !productForm.MatchString(v.product) {
		return v, fmt.Errorf("its product version %q is not valid", v.product)
	}
	if format > DirFormat {
		return v, nil
	}
	node, err := strconv.ParseUint(fields["node"], 10, 32)
	if err != nil || node == 0 {
		return v, fmt.Errorf("its node number %q is not valid", fields["node"])
	}
	v.NodeID, v.ClusterID = uint32(node), fields["cluster"]
	if !uuidForm.MatchString(v.ClusterID) {
		return v, fmt.Errorf("its cluster id %q is not valid", v.ClusterID)
	}
	return v, nil
}
