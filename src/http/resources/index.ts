import { budgets } from "./budgets.ts";
import { groupRoles } from "./group-roles.ts";
import { issuers } from "./issuers.ts";
import { markups } from "./markups.ts";
import { modelLimits } from "./model-limits.ts";
import { policies } from "./policies.ts";
import { reroutes } from "./reroutes.ts";
import type { AnyResource } from "./resource.ts";
import { roleLimits } from "./role-limits.ts";

const declared = [budgets, groupRoles, issuers, markups, modelLimits, policies, reroutes, roleLimits] as const;

/** The types of all declarations. */
export type Declared = (typeof declared)[number];

/** All things that are declared outside of modules. Their routes, their sections of the configuration document and their commands are made from this list. */
export const resources: readonly AnyResource[] = declared;
