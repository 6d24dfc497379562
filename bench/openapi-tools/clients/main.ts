// Calls every operation of the example APIs through clients that Hey API generates from their documents: `node main.js BASE`. Prints the id of each
// operation whose answer is right.
import { client as car100Client } from "./car100/client.gen";
import * as car100 from "./car100/sdk.gen";
import type { Problem } from "./car100/types.gen";
import { client as renameClient } from "./car100rename/client.gen";
import * as rename from "./car100rename/sdk.gen";
import { client as customerClient } from "./customer/client.gen";
import * as customer from "./customer/sdk.gen";
import type { InsertCustomerRequest } from "./customer/types.gen";
import { client as scenariosClient } from "./scenarios/client.gen";
import * as scenarios from "./scenarios/sdk.gen";

declare const process: { argv: string[]; exit(code: number): never };

function check(operation: string, holds: boolean, told: unknown): void {
  if (!holds) {
    console.log(`${operation}: ${JSON.stringify(told)}`);
    process.exit(1);
  }
  console.log(operation);
}

async function main(): Promise<void> {
  for (const client of [car100Client, renameClient, scenariosClient, customerClient]) {
    client.setConfig({ baseUrl: process.argv[2] });
  }

  const query = { maxCars: 3, maxDealers: 2 };
  const models = await car100.findModels({ query });
  check("findModels", models.data?.CAR100CP?.RESP_TXN_RESPONSE_BLOCK !== undefined, models);
  const none = await car100.findModels({ query: { ...query, model: "NOPE" } });
  check("findModels", none.response?.status === 404 && (none.error as Problem | undefined)?.code !== undefined, none);
  const renamed = await rename.findModelsRenamed({ query });
  check("findModelsRenamed", renamed.data?.CAR100CP?.CarFinder?.Cars?.Data?.length === 3, renamed);
  const found = await rename.searchModels({
    path: { model: "VECTOR" },
    body: { CAR100CP: { Request: { MaxCars: 2, MaxDealers: 0, Extras: "Y" } } },
  });
  check("searchModels", found.data?.CAR100CP?.CarFinder?.Cars?.Data?.every((car) => car.Model === "VECTOR") === true, found);
  for (const [id, call] of [
    ["excludeDealers", scenarios.excludeDealers],
    ["excludeCars", scenarios.excludeCars],
    ["excludeTenFields", scenarios.excludeTenFields],
  ] as const) {
    const answer = await call({ query });
    check(id, answer.response?.status === 200 && answer.data?.CAR100CP !== undefined, answer);
  }

  const one: InsertCustomerRequest = { customerId: 42, city: "BERLIN", balance: -12.5, total: 12345678901.23 };
  const path = { customerId: 42 };
  const inserted = await customer.insertCustomer({ body: one });
  check("insertCustomer", inserted.data?.total === one.total, inserted);
  const twice = await customer.insertCustomer({ body: one });
  check("insertCustomer", twice.response?.status === 409, twice);
  const read = await customer.readCustomer({ path });
  check("readCustomer", read.data?.city === "BERLIN" && read.data.balance === -12.5, read);
  const updated = await customer.updateCustomer({ path, body: { city: "BONN" } });
  check("updateCustomer", updated.data?.city === "BONN" && updated.data.total === one.total, updated);
  const replaced = await customer.replaceCustomer({ path, body: { city: "ROME", balance: 1 } });
  check("replaceCustomer", replaced.data?.city === "ROME" && replaced.data.balance === 1, replaced);
  const page = await customer.browseCustomer({ query: { limit: 5 } });
  check("browseCustomer", page.data?.items.length === 1, page);
  const there = await customer.browseCustomerByCity({ path: { city: "ROME" } });
  check("browseCustomerByCity", there.data?.items[0]?.customerId === 42, there);
  const deleted = await customer.deleteCustomer({ path });
  check("deleteCustomer", deleted.response?.status === 204, deleted);
}

void main();
