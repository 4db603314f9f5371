package builtin

import "github.com/sherddb/sherd/sql/types"

// notify is pg_notify. A null channel is an error; a null payload is empty.
func notify(c *Ctx, a []types.Datum) (types.Datum, error) {
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	return types.NewText(""), s.Notify(a[0].S, a[1].S)
}

func listeningChannels(c *Ctx, _ []types.Datum, emit func([]types.Datum) error) error {
	s, err := c.session()
	if err != nil {
		return err
	}
	for _, name := range s.ListeningChannels() {
		if err := emit([]types.Datum{types.NewText(name)}); err != nil {
			return err
		}
	}
	return nil
}
