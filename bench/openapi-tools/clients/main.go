// Calls every operation of the example APIs through clients that oapi-codegen generates from their documents: `main BASE`. Prints the id of each
// operation whose answer is right.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"openapi-tools/car100"
	"openapi-tools/car100rename"
	"openapi-tools/customer"
	"openapi-tools/scenarios"
)

func some[T any](value T) *T { return &value }

func check(operation string, err error, holds func() bool, body func() []byte) {
	if err != nil {
		fmt.Println(operation, err)
		os.Exit(1)
	}
	if !holds() {
		fmt.Println(operation, string(body()))
		os.Exit(1)
	}
	fmt.Println(operation)
}

func main() {
	base, ctx := os.Args[1], context.Background()

	cars, _ := car100.NewClientWithResponses(base)
	models, err := cars.FindModelsWithResponse(ctx, &car100.FindModelsParams{MaxCars: some(int64(3)), MaxDealers: some(int64(2))})
	check("findModels", err, func() bool { return models.JSON200 != nil && models.JSON200.CAR100CP != nil }, func() []byte { return models.Body })
	none, err := cars.FindModelsWithResponse(ctx, &car100.FindModelsParams{Model: some("NOPE")})
	check("findModels", err, func() bool { return none.ApplicationproblemJSON404 != nil }, func() []byte { return none.Body })

	short, _ := car100rename.NewClientWithResponses(base)
	renamed, err := short.FindModelsRenamedWithResponse(ctx, &car100rename.FindModelsRenamedParams{MaxCars: some(int64(3))})
	check("findModelsRenamed", err, func() bool { return len(*renamed.JSON200.CAR100CP.CarFinder.Cars.Data) == 3 }, func() []byte { return renamed.Body })
	var search car100rename.SearchModelsRequest
	if err := json.Unmarshal([]byte(`{"CAR100CP":{"Request":{"MaxCars":2,"MaxDealers":0,"Extras":"Y"}}}`), &search); err != nil {
		panic(err)
	}
	found, err := short.SearchModelsWithResponse(ctx, "VECTOR", nil, search)
	check("searchModels", err, func() bool { return *(*found.JSON200.CAR100CP.CarFinder.Cars.Data)[0].Model == "VECTOR" }, func() []byte { return found.Body })

	excluding, _ := scenarios.NewClientWithResponses(base)
	dealers, err := excluding.ExcludeDealersWithResponse(ctx, &scenarios.ExcludeDealersParams{MaxCars: some(int64(3))})
	check("excludeDealers", err, func() bool { return dealers.JSON200.CAR100CP != nil }, func() []byte { return dealers.Body })
	noCars, err := excluding.ExcludeCarsWithResponse(ctx, &scenarios.ExcludeCarsParams{MaxDealers: some(int64(3))})
	check("excludeCars", err, func() bool { return noCars.JSON200.CAR100CP != nil }, func() []byte { return noCars.Body })
	fields, err := excluding.ExcludeTenFieldsWithResponse(ctx, &scenarios.ExcludeTenFieldsParams{MaxCars: some(int64(3))})
	check("excludeTenFields", err, func() bool { return fields.JSON200.CAR100CP != nil }, func() []byte { return fields.Body })

	customers, _ := customer.NewClientWithResponses(base)
	total := 12345678901.23
	one := customer.InsertCustomerRequest{CustomerId: 42, City: some("BERLIN"), Balance: some(-12.5), Total: &total}
	inserted, err := customers.InsertCustomerWithResponse(ctx, nil, one)
	check("insertCustomer", err, func() bool { return inserted.JSON201 != nil && *inserted.JSON201.Total == total }, func() []byte { return inserted.Body })
	twice, err := customers.InsertCustomerWithResponse(ctx, nil, one)
	check("insertCustomer", err, func() bool { return twice.ApplicationproblemJSON409 != nil }, func() []byte { return twice.Body })
	read, err := customers.ReadCustomerWithResponse(ctx, 42, nil)
	check("readCustomer", err, func() bool { return *read.JSON200.City == "BERLIN" && *read.JSON200.Balance == -12.5 }, func() []byte { return read.Body })
	updated, err := customers.UpdateCustomerWithResponse(ctx, 42, nil, customer.UpdateCustomerJSONRequestBody{City: some("BONN")})
	check("updateCustomer", err, func() bool { return *updated.JSON200.City == "BONN" && *updated.JSON200.Total == total }, func() []byte { return updated.Body })
	replaced, err := customers.ReplaceCustomerWithResponse(ctx, 42, nil, customer.ReplaceCustomerJSONRequestBody{City: some("ROME")})
	check("replaceCustomer", err, func() bool { return *replaced.JSON200.City == "ROME" }, func() []byte { return replaced.Body })
	page, err := customers.BrowseCustomerWithResponse(ctx, &customer.BrowseCustomerParams{Limit: some(5)})
	check("browseCustomer", err, func() bool { return len(page.JSON200.Items) == 1 }, func() []byte { return page.Body })
	there, err := customers.BrowseCustomerByCityWithResponse(ctx, "ROME", nil)
	check("browseCustomerByCity", err, func() bool { return len(there.JSON200.Items) == 1 }, func() []byte { return there.Body })
	deleted, err := customers.DeleteCustomerWithResponse(ctx, 42, nil)
	check("deleteCustomer", err, func() bool { return deleted.StatusCode() == 204 }, func() []byte { return deleted.Body })
}
