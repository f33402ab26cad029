// Time and randomness from the host.

package wharf

import (
	"time"

	"github.com/wharf-dev/wharf/sdk/go/internal/host"
)

// Now is the host's time, to the millisecond. [time.Now] is the same in a plugin; this one can
// be set in tests.
func Now() time.Time {
	now := host.SystemNow()
	return time.Unix(int64(now.Seconds), int64(now.Nanoseconds)).UTC()
}

// Random is so many bytes of the host's secure generator; 65,536 at most. The packages
// crypto/rand and math/rand work too.
func Random(length uint32) []byte { return host.SystemRandom(length) }
