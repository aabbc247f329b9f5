import { budgets } from "../../http/resources/budgets.ts";
import { eachAccount } from "../../tenants/index.ts";
import { resourceCommands } from "../lib/resource-commands.ts";

export const budgetCommands = resourceCommands(budgets, {
  each: "each account by itself",
  eachOwner: eachAccount,
  create: "--account ada@example.org --subject end_user --budget-usd 5 --budget-period day",
  change: "--raise-usd 10 --raise-until 7d",
});
