package dbgen

import (
	"math/rand/v2"
	"strings"
)

var (
	segments     = strings.Fields("AUTOMOBILE BUILDING FURNITURE MACHINERY HOUSEHOLD")
	priorities   = []string{"1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"}
	instructions = []string{"DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"}
	modes        = []string{"REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"}

	typeSizes    = strings.Fields("STANDARD SMALL MEDIUM LARGE ECONOMY PROMO")
	typeFinishes = strings.Fields("ANODIZED BURNISHED PLATED POLISHED BRUSHED")
	typeMetals   = strings.Fields("TIN NICKEL BRASS STEEL COPPER")

	containerSizes = strings.Fields("SM LG MED JUMBO WRAP")
	containerKinds = strings.Fields("CASE BOX BAG JAR PKG PACK CAN DRUM")

	colors = strings.Fields(`almond antique aquamarine azure beige bisque black blanched blue blush brown
		burlywood burnished chartreuse chiffon chocolate coral cornflower cornsilk cream cyan dark deep dim dodger
		drab firebrick floral forest frosted gainsboro ghost goldenrod green grey honeydew hot indian ivory khaki
		lace lavender lawn lemon light lime linen magenta maroon medium metallic midnight mint misty moccasin navajo
		navy olive orange orchid pale papaya peach peru pink plum powder puff purple red rose rosy royal saddle
		salmon sandy seashell sienna sky slate smoke snow spring steel tan thistle tomato turquoise violet wheat
		white yellow`)

	regionNames = []string{"AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"}
)

// nations are the names of the nations and the keys of their regions, in the order of their keys.
var nations = []struct {
	name   string
	region int
}{
	{"ALGERIA", 0}, {"ARGENTINA", 1}, {"BRAZIL", 1}, {"CANADA", 1}, {"EGYPT", 4}, {"ETHIOPIA", 0}, {"FRANCE", 3},
	{"GERMANY", 3}, {"INDIA", 2}, {"INDONESIA", 2}, {"IRAN", 4}, {"IRAQ", 4}, {"JAPAN", 2}, {"JORDAN", 4},
	{"KENYA", 0}, {"MOROCCO", 0}, {"MOZAMBIQUE", 0}, {"PERU", 1}, {"CHINA", 2}, {"ROMANIA", 3},
	{"SAUDI ARABIA", 4}, {"VIETNAM", 2}, {"RUSSIA", 3}, {"UNITED KINGDOM", 3}, {"UNITED STATES", 1},
}

// The words of comments. Those of the first list of nouns and of adjectives are frequent.
var (
	frequentNouns = strings.Fields("packages requests accounts deposits")
	nouns         = strings.Split("foxes,ideas,theodolites,pinto beans,instructions,dependencies,excuses,platelets,"+
		"asymptotes,courts,dolphins,multipliers,sauternes,warthogs,frets,dinos,attainments,somas,Tiresias,patterns,"+
		"forges,braids,hockey players,frays,warhorses,dugouts,notornis,epitaphs,pearls,tithes,waters,orbits,gifts,"+
		"sheaves,depths,sentiments,decoys,realms,pains,grouches,escapades", ",")
	frequentAdjectives = strings.Fields("special pending unusual express regular final ironic even bold silent")
	adjectives         = strings.Fields("furious sly careful blithe quick fluffy slow quiet ruthless thin close " +
		"dogged daring brave stealthy permanent enticing idle busy")
	verbs = strings.Fields("sleep wake are cajole haggle nag use boost affix detect integrate maintain nod was lose " +
		"sublate solve thrash promise engage hinder print x-ray breach eat grow impress mold poach serve run dazzle " +
		"snooze doze unwind kindle play hang believe doubt")
	adverbs = strings.Fields("sometimes always never furiously slyly carefully blithely quickly fluffily slowly " +
		"quietly ruthlessly thinly closely doggedly daringly bravely stealthily permanently enticingly idly busily " +
		"regularly finally ironically evenly boldly silently")
	prepositions = strings.Split("about,above,according to,across,after,against,along,alongside of,among,around,at,"+
		"atop,before,behind,beneath,beside,besides,between,beyond,by,despite,during,except,for,from,in place of,"+
		"inside,instead of,into,near,of,on,outside,over,past,since,through,throughout,to,toward,under,until,up,upon,"+
		"without,with,within", ",")
	auxiliaries = strings.Split("do,may,might,shall,will,would,can,could,should,ought to,must,will have to,"+
		"shall have to,could have to,should have to,must have to,need to,try to", ",")
	terminators = strings.Fields(". ; : ? ! --")
)

// prose is text of sentences. Comments are parts of it.
type prose string

// proseSize is the length of the text: far more than the comments of a tiny population repeat.
const proseSize = 4 << 20

func newProse() prose {
	w := &writer{r: rand.New(rand.NewPCG(4, 2))}
	w.text.Grow(proseSize + 1<<10)
	for w.text.Len() < proseSize {
		w.sentence()
	}
	return prose(w.text.String()[:proseSize])
}

// part returns a part of at least and at most so many bytes.
func (p prose) part(r *rand.Rand, least, most int) string {
	n := least + r.IntN(most-least+1)
	from := r.IntN(len(p) - n)
	return string(p[from : from+n])
}

// writer writes sentences after the grammar of clause 4.2.2.14.
type writer struct {
	text strings.Builder
	r    *rand.Rand
}

func (w *writer) word(s string) {
	if w.text.Len() > 0 {
		w.text.WriteByte(' ')
	}
	w.text.WriteString(s)
}

func pick(r *rand.Rand, words []string) string { return words[r.IntN(len(words))] }

func (w *writer) sentence() {
	w.nounPhrase()
	switch w.r.IntN(5) {
	case 0:
		w.verbPhrase()
	case 1:
		w.verbPhrase()
		w.prepositionalPhrase()
	case 2:
		w.verbPhrase()
		w.nounPhrase()
	case 3:
		w.prepositionalPhrase()
		w.verbPhrase()
		w.nounPhrase()
	default:
		w.prepositionalPhrase()
		w.verbPhrase()
		w.prepositionalPhrase()
	}
	w.text.WriteString(pick(w.r, terminators))
}

func (w *writer) nounPhrase() {
	switch w.r.IntN(4) {
	case 1:
		w.word(w.adjective())
	case 2:
		w.word(w.adjective() + ",")
		w.word(w.adjective())
	case 3:
		w.word(pick(w.r, adverbs))
		w.word(w.adjective())
	}
	if w.r.IntN(5) == 0 {
		w.word(pick(w.r, frequentNouns))
	} else {
		w.word(pick(w.r, nouns))
	}
}

func (w *writer) adjective() string {
	if w.r.IntN(2) == 0 {
		return pick(w.r, frequentAdjectives)
	}
	return pick(w.r, adjectives)
}

func (w *writer) verbPhrase() {
	if w.r.IntN(2) == 0 {
		w.word(pick(w.r, auxiliaries))
	}
	w.word(pick(w.r, verbs))
	if w.r.IntN(2) == 0 {
		w.word(pick(w.r, adverbs))
	}
}

func (w *writer) prepositionalPhrase() {
	w.word(pick(w.r, prepositions))
	w.word("the")
	w.nounPhrase()
}
