package psql

import (
	"slices"
	"strings"
)

// scanBackslash reads a backslash command. ok is true if it ends a step.
func (r *Reader) scanBackslash(rest string) (step Step, ok bool) {
	if strings.HasPrefix(rest, `\;`) || strings.HasPrefix(rest, `\:`) {
		r.add(rest[1:2])
		r.move(2)
		return Step{}, false
	}
	name := command.FindString(rest)
	if name == "" {
		r.statement.begun = true
		r.copy(rest, 1)
		return Step{}, false
	}
	r.move(len(name))
	if name == `\\` {
		return Step{}, false
	}
	if name = name[1:]; isConditional(name) {
		r.conditional(name, r.arguments())
		return Step{}, false
	}
	if name == "copy" && r.active() {
		line := r.substitute(r.line[r.at:])
		r.at = len(r.line)
		return Step{Kind: CopyFile, Args: []string{line}, Line: r.next}, true
	}
	args := r.arguments()
	if !r.active() {
		return Step{}, false
	}
	return r.run(name, args)
}

// run does what a command asks for.
func (r *Reader) run(name string, args []string) (step Step, ok bool) {
	switch name {
	case "set":
		if len(args) > 0 {
			r.values[args[0]] = strings.Join(args[1:], "")
			delete(r.asked, args[0])
		}
	case "unset":
		if len(args) > 0 {
			r.Store(args[0], nil)
		}
	case "getenv":
		if len(args) > 1 {
			if v, ok := r.Environment[args[1]]; ok {
				r.values[args[0]] = v
			}
		}
	case "g", "gx", "gset", "gexec", "gdesc", "crosstabview", "watch":
		if r.statement.begun {
			return r.take(append([]string{name}, args...)), true
		}
	case "c", "connect":
		return Step{Kind: Connect, Args: args, Line: r.next}, true
	case "r":
		r.statement = statement{}
	case "q", "quit":
		r.stopped = true
	}
	return Step{}, false
}

func isConditional(name string) bool {
	return slices.Contains([]string{"if", "elif", "else", "endif"}, name)
}

// conditional does what \if and its parts ask for.
func (r *Reader) conditional(name string, args []string) {
	holds := len(args) > 0 && slices.Contains([]string{"t", "true", "on", "yes", "1"}, strings.ToLower(args[0]))
	if name == "if" {
		outer := r.active()
		r.conditions = append(r.conditions, condition{outer && holds, outer && holds, outer})
		return
	}
	if len(r.conditions) == 0 {
		return
	}
	top := &r.conditions[len(r.conditions)-1]
	switch name {
	case "elif":
		top.active = top.outer && !top.taken && holds
		top.taken = top.taken || top.active
	case "else":
		top.active = top.outer && !top.taken
		top.taken = true
	case "endif":
		r.conditions = r.conditions[:len(r.conditions)-1]
	}
}

// substitute replaces references to variables in the rest of a line.
func (r *Reader) substitute(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		ref := reference{}
		if text[i] == ':' {
			ref = findReference(text[i:])
		}
		value, set := r.values[ref.name]
		if !set || ref.isTest {
			b.WriteByte(text[i])
			i++
			continue
		}
		b.WriteString(quoted(value, ref.quote))
		i += ref.length
	}
	return b.String()
}

// arguments reads the arguments of a command: up to the end of the line, or to the next command.
func (r *Reader) arguments() (args []string) {
	for r.at < len(r.line) {
		switch c := r.line[r.at]; {
		case c == ' ' || c == '\t':
			r.at++
		case c == '\\':
			if strings.HasPrefix(r.line[r.at:], `\\`) {
				r.at += 2
			}
			return args
		default:
			args = append(args, r.argument())
		}
	}
	return args
}

// argument reads one argument, which ends at white space.
func (r *Reader) argument() string {
	var b strings.Builder
	for r.at < len(r.line) {
		rest := r.line[r.at:]
		switch c := rest[0]; {
		case c == ' ' || c == '\t' || c == '\\':
			return b.String()
		case c == '\'':
			r.at++
			r.quotedArgument(&b)
		case c == '"':
			end := strings.IndexByte(rest[1:], '"') + 2
			if end == 1 {
				end = len(rest)
			}
			b.WriteString(rest[:end])
			r.at += end
		case c == ':':
			ref := findReference(rest)
			value, set := r.values[ref.name]
			switch {
			case ref.isTest:
				value = truth(set)
			case ref.name == "" || !set:
				ref.length = max(1, ref.length)
				value = rest[:ref.length]
			default:
				value = quoted(value, ref.quote)
			}
			b.WriteString(value)
			r.at += ref.length
		default:
			b.WriteByte(c)
			r.at++
		}
	}
	return b.String()
}

// quotedArgument reads the rest of a part of an argument in single quotes.
func (r *Reader) quotedArgument(b *strings.Builder) {
	for r.at < len(r.line) {
		rest := r.line[r.at:]
		switch {
		case strings.HasPrefix(rest, "''"):
			b.WriteByte('\'')
			r.at += 2
		case rest[0] == '\'':
			r.at++
			return
		case rest[0] == '\\' && len(rest) > 1:
			c := rest[1]
			switch c {
			case 'n':
				c = '\n'
			case 't':
				c = '\t'
			}
			b.WriteByte(c)
			r.at += 2
		default:
			b.WriteByte(rest[0])
			r.at++
		}
	}
}
