// Package copy runs COPY FROM STDIN and COPY TO STDOUT: the options of the statement, and rows
// between the client and tables. Package copydata has the formats of the data.
//
// COPY FROM runs a program that inserts, so defaults, constraints and placement are those of
// INSERT. Its errors name the line of the data, also if a fragment finds them after later lines
// were read.
package copy
