// Package dbgen generates the population of the TPC-H benchmark after clause 4.2 of its
// specification: the rows of the eight tables, whose columns have the distributions of the
// specification. The rows are not those of the TPC's own program of this name, because the numbers
// are drawn by another generator, but every run generates the same ones.
//
// Scale factor 1 is 6 million rows of lineitem. The specification begins there; smaller factors
// keep all formulas, and a supplier with complaints and one with recommendations.
package dbgen
