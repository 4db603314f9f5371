package types

// word interprets a word: as the abbreviation of a zone, a keyword, or the name of a zone.
func (p *dateDecoder) word(i int, s string) (int, dtError) {
	if a, ok := zoneTables().abbrevs[s]; ok {
		return p.zoneWord(s, a)
	}
	w, ok := dateWords[s]
	if !ok {
		return maskZone, p.namedZone(s, false)
	}
	switch w.typ {
	case wordIgnore:
		return 0, dtOK
	case wordReserved:
		return p.reserved(w.val)
	case wordMonth:
		if p.timeOnly {
			return 0, dtBadFormat
		}
		got := maskMonth
		if p.mask&maskMonth != 0 && !p.textMonth && p.mask&maskDay == 0 && 1 <= p.tm.mon && p.tm.mon <= 31 {
			p.tm.day = p.tm.mon
			got = maskDay
		}
		p.textMonth = true
		p.tm.mon = w.val
		return got, dtOK
	case wordDST:
		p.tm.west -= int32(w.val)
		return maskDST, dtOK
	case wordAMPM:
		p.meridiem = w.val
		return maskAMPM, dtOK
	case wordEra:
		p.bc = w.val == 1
		return maskEra, dtOK
	case wordWeekday:
		if p.timeOnly {
			return 0, dtBadFormat
		}
		return maskWeekday, dtOK
	case wordUnits:
		p.prefix = w.val
		return 0, dtOK
	case wordISOTime:
		return 0, p.isoTime(i)
	}
	return 0, dtBadFormat
}

func (p *dateDecoder) zoneWord(s string, a abbreviation) (int, dtError) {
	if a.dynamic != "" {
		p.abbrev, p.abbrevOf = s, a
		return maskZone, dtOK
	}
	p.tm.west = int32(-a.offset)
	return maskZone, dtOK
}

// isoTime interprets the T between date and time: a date must precede it and a time must follow.
func (p *dateDecoder) isoTime(i int) dtError {
	if !p.timeOnly && p.mask&maskDate != maskDate {
		return dtBadFormat
	}
	if i+1 >= len(p.fields) {
		return dtBadFormat
	}
	switch p.fields[i+1].typ {
	case fieldNumber, fieldTime, fieldDate:
		p.prefix = unitTime
		return dtOK
	}
	return dtBadFormat
}

func (p *dateDecoder) reserved(val int) (int, dtError) {
	if p.timeOnly {
		switch val {
		case resNow:
			now := p.now()
			p.tm.hour, p.tm.min, p.tm.sec, p.tm.usec = now.hour, now.min, now.sec, now.usec
			return maskTime, dtOK
		case resZulu:
			return maskTime | maskZone, dtOK
		}
		return 0, dtBadFormat
	}
	switch val {
	case resNow:
		now := p.now()
		now.zone = ""
		p.tm = now
		return maskDate | maskTime | maskZone, dtOK
	case resToday, resTomorrow, resYesterday:
		now := p.now()
		jd := julianDay(now.year, now.mon, now.day)
		switch val {
		case resTomorrow:
			jd++
		case resYesterday:
			jd--
		}
		p.tm.year, p.tm.mon, p.tm.day = dateOfJulian(jd)
		return maskDate, dtOK
	case resZulu:
		p.tm.hour, p.tm.min, p.tm.sec, p.tm.west = 0, 0, 0, 0
		return maskTime | maskZone, dtOK
	}
	p.special = val
	return maskDate | maskTime | maskZone, dtOK
}
