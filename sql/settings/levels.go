package settings

// levels holds, by parameter, what open transactions and savepoints have set, the innermost last.
type levels map[string][]saved

// saved is what one level of nesting has done to a parameter. It follows PostgreSQL's stack of GUC
// values.
type saved struct {
	nest   int // 1 is the transaction, 2 its first savepoint, …
	action settingAction
	prior  *string // before this level; nil was unset
	masked *string // of setThenLocal: the value of SET, before SET LOCAL
}

type settingAction byte

const (
	setSession settingAction = iota
	setLocal
	setThenLocal
)

// remember notes what a level is about to change, and the value until now.
func (l levels) remember(key string, current *string, local bool, nest int) {
	list := l[key]
	if n := len(list); n > 0 && list[n-1].nest == nest {
		top := &list[n-1]
		switch {
		case !local:
			top.action, top.masked = setSession, nil
		case top.action == setSession:
			top.action, top.masked = setThenLocal, current
		}
		return
	}
	e := saved{nest: nest, prior: current}
	if local {
		e.action = setLocal
	}
	l[key] = append(list, e)
}

// end ends the levels from nest on, and calls put for each value that changes back. If a
// transaction commits, its values stay, except LOCAL ones. If a savepoint is released, its values
// become those of the surrounding level.
func (l levels) end(commit bool, nest int, put func(key string, value *string)) {
	for key, list := range l {
		for n := len(list); n > 0 && list[n-1].nest >= nest; n = len(list) {
			top := list[n-1]
			list = list[:n-1]
			switch {
			case !commit:
				put(key, top.prior)
			case top.nest > 1:
				list = top.mergeInto(list, max(nest-1, 1))
			case top.action == setLocal:
				put(key, top.prior)
			case top.action == setThenLocal:
				put(key, top.masked)
			}
		}
		if l[key] = list; len(list) == 0 {
			delete(l, key)
		}
	}
}

// mergeInto merges the entry of a released savepoint into the surrounding level.
func (e saved) mergeInto(list []saved, nest int) []saved {
	if n := len(list); n == 0 || list[n-1].nest < nest {
		e.nest = nest
		return append(list, e)
	}
	around := &list[len(list)-1]
	switch {
	case e.action == setSession:
		around.action, around.masked = setSession, nil
	case e.action == setThenLocal:
		around.action, around.masked = setThenLocal, e.masked
	case around.action == setSession:
		around.action, around.masked = setThenLocal, e.prior
	}
	return list
}
