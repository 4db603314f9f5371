package main

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// sampleTables are the collections of the demo. An order is in the bucket of its customer.
var sampleTables = []string{
	"CREATE TABLE customers (id text PRIMARY KEY, doc jsonb NOT NULL)",
	"CREATE TABLE products (id text PRIMARY KEY, doc jsonb NOT NULL)",
	"CREATE TABLE employees (id text PRIMARY KEY, doc jsonb NOT NULL)",
	"CREATE TABLE orders (id text PRIMARY KEY, doc jsonb NOT NULL) WITH (shard_by = 'Customer')",
}

type sampleTable struct {
	table string
	rows  [][]any
}

const (
	sampleCustomers = 90
	sampleProducts  = 77
	sampleEmployees = 9
	sampleOrders    = 830
)

var (
	companyFirst = []string{"Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Gorse", "Hazel", "Ivy", "Juniper"}
	companyLast  = []string{
		"Trading", "Foods", "Imports", "Market", "Delicatessen", "Stores", "Provisions", "Harvest", "Kitchen",
	}
	cities = [][2]string{{"Lisboa", "Portugal"}, {"Lyon", "France"}, {"Graz", "Austria"}, {"Bergen", "Norway"},
		{"Cork", "Ireland"},
		{"Torino", "Italy"}, {"Sevilla", "Spain"}, {"Münster", "Germany"}, {"Helsinki", "Finland"}, {"Portland", "USA"}}
	goods = []string{
		"tea", "coffee", "cheese", "olives", "honey", "pasta", "rice", "chocolate", "anchovies", "syrup", "mustard",
	}
	categories = []string{"Beverages", "Condiments", "Confections", "Dairy", "Grains", "Produce", "Seafood"}
	givenNames = []string{"Ada", "Bruno", "Clara", "Dario", "Edda", "Femi", "Greta", "Hugo", "Ines"}
	titles     = []string{"Sales Representative", "Sales Manager", "Inside Sales Coordinator", "Vice President, Sales"}
)

// sampleData returns the same documents each time.
func sampleData() []sampleTable {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	var customers, products, employees [][]any
	for i := range sampleCustomers {
		city := cities[r.IntN(len(cities))]
		customers = append(customers, []any{fmt.Sprintf("customers/%d-A", i+1), map[string]any{
			"Company": companyFirst[i%10] + " " + companyLast[i/10%9],
			"Address": map[string]any{"City": city[0], "Country": city[1]},
			"Contact": map[string]any{
				"Name": pick(givenNames), "Phone": fmt.Sprintf("+%d %07d", 30+r.IntN(60), r.IntN(1e7)),
			},
		}})
	}
	prices := make([]float64, sampleProducts)
	for i := range sampleProducts {
		prices[i] = float64(100+r.IntN(9900)) / 100
		products = append(products, []any{fmt.Sprintf("products/%d-A", i+1), map[string]any{
			"Name": pick(companyFirst) + " " + goods[i%len(goods)], "Category": pick(categories), "Price": prices[i],
			"InStock":      r.IntN(200),
			"Discontinued": r.IntN(10) == 0,
		}})
	}
	for i := range sampleEmployees {
		employees = append(employees, []any{fmt.Sprintf("employees/%d-A", i+1), map[string]any{
			"FirstName": givenNames[i], "Title": pick(titles),
			"HiredAt": fmt.Sprintf("%d-%02d-01", 2012+r.IntN(12), 1+r.IntN(12)),
		}})
	}
	return []sampleTable{
		{"customers", customers}, {"products", products}, {"employees", employees},
		{"orders", sampleOrderRows(r, prices)},
	}
}

func sampleOrderRows(r *rand.Rand, prices []float64) [][]any {
	var orders [][]any
	day := time.Date(2025, 1, 2, 0, 0, 0, 0, time.UTC)
	for i := range sampleOrders {
		var lines []map[string]any
		total := 0
		for range 1 + r.IntN(5) {
			n, quantity := r.IntN(sampleProducts), 1+r.IntN(20)
			total += int(prices[n]*100+0.5) * quantity
			lines = append(
				lines,
				map[string]any{"Product": fmt.Sprintf("products/%d-A", n+1), "Quantity": quantity, "Price": prices[n]},
			)
		}
		orders = append(orders, []any{fmt.Sprintf("orders/%d-A$", i+1), map[string]any{
			"Customer":  fmt.Sprintf("customers/%d-A", 1+r.IntN(sampleCustomers)),
			"Employee":  fmt.Sprintf("employees/%d-A", 1+r.IntN(sampleEmployees)),
			"OrderedAt": day.AddDate(0, 0, i*2/3).Format(time.DateOnly), "Lines": lines, "Total": float64(total) / 100,
			"Shipped": r.IntN(8) > 0,
		}})
	}
	return orders
}
