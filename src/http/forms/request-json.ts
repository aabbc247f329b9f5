import { type Static, type TObject, Type } from "@sinclair/typebox";
import { cacheMissKinds, formatUsd, nullable, policyResults, Rate } from "../../contract/index.ts";
import {
  describeCharge,
  describeMargin,
  describeMiss,
  describeRequest,
  describeRequestDetail,
  type ExplainedCharge,
  type LoggedRequest,
  type RequestDetail,
  readDetail,
  toPolicyResult,
  toShownVersion,
} from "../../reports/index.ts";
import type { AccountNames } from "../../tenants/index.ts";
import { toIso, toOwnerJson } from "./serializers.ts";

/** Account holders do not see these figures. */
const withoutMargin = { provider_cost_usd: null, provider_price_version: null, markup_percent: null, earned_usd: null };

/**
 * A request of the log. `state` is `refused` for one that did not become a call; `requests` is how many requests a
 * refused row stands for, and `requested_model` the name that the client sent where another model served it. `owners` are
 * given to administrators.
 */
export function toRequestJson(request: LoggedRequest, owners?: ReadonlyMap<string, AccountNames>) {
  const { opened_at, account_id, premium, state, requests, cost_nanodollars, charged_nanodollars, ...more } = request;
  const { detail, cache_miss: _, cache_miss_place: __, cache_missed_tokens: ___, ...others } = more;
  const { cache_lost_nanodollars: ____, cache_saved_nanodollars, ...rest } = others;
  const { requested, finish } = readDetail({ detail });
  return {
    ...rest,
    requested_model: requested ?? null,
    finish_reasons: [...(finish ?? [])],
    at: toIso(opened_at),
    account: account_id,
    ...toOwnerJson(owners, account_id),
    state: state ?? "refused",
    requests: requests ?? 1,
    premium: premium === null ? null : premium !== 0,
    cost_usd: toUsd(cost_nanodollars),
    charged_usd: toUsd(charged_nanodollars),
    cache_saved_usd: toUsd(cache_saved_nanodollars),
    cache_miss: describeMiss(request),
  };
}

/**
 * Serializes a request with all its details. `owners` is present for users who see all accounts. The providers'
 * messages for failed attempts may contain a part of the prompt, so only administrators get them.
 */
export function toRequestDetailJson(
  request: RequestDetail,
  {
    owners,
    seesWords,
    charge,
  }: {
    owners: ReadonlyMap<string, AccountNames> | undefined;
    seesWords: boolean;
    charge: ExplainedCharge | undefined;
  },
) {
  const { message, settled_at, hold_nanodollars, node_id, ...ofCall } = request;
  const { provider_cost_nanodollars: _, provider_price_version: __, markup_basis_points: ___, ...rest } = ofCall;
  const { attempts = [], ...more } = readDetail(request);
  const seesAll = owners !== undefined;
  return {
    ...toRequestJson(rest, owners),
    hold_tokens: rest.hold_tokens,
    hold_usd: toUsd(hold_nanodollars),
    price_version: seesAll ? rest.price_version : toShownVersion(request, charge),
    charge: describeCharge(charge, toIso),
    /** The account, admin key or command that changed the price; for administrators. */
    price_changed_by: seesAll ? (charge?.price.changedBy ?? null) : null,
    ...(seesAll ? describeMargin(request) : withoutMargin),
    settled_at: toIso(settled_at),
    node: seesAll ? node_id : null,
    error: message ?? more.error ?? null,
    stream: more.stream ?? false,
    cache_report: more.cache ?? null,
    ignored: more.ignored ?? [],
    lowered: more.lowered ?? {},
    cache_marks: more.cache_marks ?? null,
    policies: (more.policies ?? []).map(toPolicyResult),
    warnings: seesAll ? (more.warnings ?? []) : [],
    failed_attempts: attempts.map(({ message: words, status = null, ...attempt }) => ({
      ...attempt,
      status,
      message: seesWords ? words : null,
    })),
  };
}

function toUsd(nanodollars: number | null): string | null {
  return nanodollars === null ? null : formatUsd(nanodollars);
}

const Text = nullable(Type.String());
const Whole = nullable(Type.Integer());
const Usd = nullable(Type.String({ description: "Exact decimal text" }));

/** A request of the log in the words of the API. */
export const requestFields = {
  id: Type.String({ description: "As in the header `x-request-id` of its answer" }),
  object: Type.Literal("organization.request"),
  created_at: Type.Integer(),
  project_id: Type.String(),
  api_key_id: Type.String(),
  state: Type.String({
    description: "`open`, `settled`, `released`, `abandoned`, or `refused` before it became a call",
  }),
  status: Whole,
  error_code: Text,
  model: nullable(Type.String({ description: "The name that clients send" })),
  requested_model: nullable(Type.String({ description: "The name that the client sent, if another model served it" })),
  provider: Text,
  capability: Text,
  protocol: Text,
  session: Text,
  tag: Text,
  end_user: Text,
  agent: nullable(Type.String({ description: "The agent of the session that made it; `null`: the session itself" })),
  parent_agent: nullable(Type.String({ description: "The agent that started that one; `null`: the session itself" })),
  client_request_id: Text,
  duration_ms: Whole,
  first_byte_ms: Whole,
  requests: Type.Integer({ description: "Number of refused requests that the entry represents" }),
  premium: nullable(Type.Boolean({ description: "Whether a wallet or budget pays; else the free quota" })),
  usage: Type.Record(Type.String(), Type.Integer(), {
    description: "Tokens and other units, without those that are 0",
  }),
  usage_source: Text,
  quota_tokens: Whole,
  cost_usd: nullable(Type.String({ description: "At the prices of the account, exact decimal text" })),
  charged_usd: Usd,
  cache_saved_usd: nullable(
    Type.String({ description: "What tokens that were read from a cache would have cost more as input" }),
  ),
  cache_miss: nullable(
    Type.Object(
      {
        kind: Type.Union(
          cacheMissKinds.map((kind) => Type.Literal(kind)),
          { description: "Why" },
        ),
        place: nullable(Type.String({ description: "What changed, as the client wrote it, such as `tools[3]`" })),
        tokens: Type.Integer({ description: "Tokens of the prompt that were charged as not read" }),
        lost_usd: nullable(Type.String({ description: "What they cost more than if they had been read" })),
      },
      { description: "Why less of the prompt was read from a cache than the session's last turn promised" },
    ),
  ),
};

const Charge = Type.Object(
  {
    lines: Type.Array(
      Type.Object({
        kind: Type.Union([Type.Literal("usage"), Type.Literal("rounding"), Type.Literal("free_quota")], {
          description:
            "`usage`: quantity times rate; `rounding`: fractions of a nanodollar, rounded up; `free_quota`: paid by the free quota",
        }),
        meter: nullable(Type.String({ description: "The unit, by its name in `usage`" })),
        quantity: Whole,
        rate: nullable(Rate),
        amount_usd: Type.String({ description: "Exact decimal text; negative for `free_quota`" }),
      }),
    ),
    total_usd: Type.String({ description: "The sum of the lines, which is `charged_usd`" }),
    service_tier: nullable(
      Type.Object(
        {
          name: Type.String(),
          standard_usd: nullable(Type.String({ description: "The same usage by the rates of the standard tier" })),
        },
        { description: "Set if the rates of a service tier applied" },
      ),
    ),
    above_input_tokens: nullable(Type.Integer({ description: "Set if the rates of longer prompts than this applied" })),
    price: Type.Object({
      version: Type.String(),
      changed_at: nullable(
        Type.Integer({
          description:
            "When this price of the provider replaced another. A changed markup of a provider, an account or the gateway is none: it is in the audit log",
        }),
      ),
      replaced_at: nullable(Type.Integer({ description: "When another price replaced this one" })),
    }),
  },
  {
    description:
      "The charge as a sum, by the price when the request began. `null`: it was not charged by its usage, or that price is not kept",
  },
);

export const RequestDetailObject = Type.Object({
  ...requestFields,
  error: nullable(Type.String({ description: "The message of the error that the client got" })),
  settled_at: Whole,
  price_version: Text,
  charge: nullable(Charge),
  hold_usd: Usd,
  hold_tokens: Whole,
  stream: Type.Boolean(),
  finish_reasons: Type.Array(Type.String()),
  cache_marks: nullable(
    Type.String({
      description:
        "What the gateway did about marks for prompt caches: `marked`, or why it did not: `short`, `losing`, `refused`; `null`: it was not for the gateway",
    }),
  ),
  cache_report: nullable(
    Type.String({ description: "The provider's own word on its cache, such as `tools_changed`, if the client asked" }),
  ),
  policies: Type.Array(
    Type.Object({
      policy: Type.String(),
      phase: Type.Union([Type.Literal("request"), Type.Literal("answer")]),
      result: Type.Union(policyResults.map((result) => Type.Literal(result))),
      label: nullable(Type.String({ description: "The policy's name for what it matched, or why it failed" })),
      count: Type.Integer(),
    }),
    { description: "What policies did, but for those that let everything pass; of calls, not of refused requests" },
  ),
  failed_attempts: Type.Array(
    Type.Object({ provider: Type.String(), status: Whole, error: Type.String(), duration_ms: Type.Integer() }),
    { description: "Attempts at providers before the one that answered; without the providers' messages" },
  ),
});

/** A request as operators see it. */
export const ManagedRequestObject = Type.Object({
  ...RequestDetailObject.properties,
  provider_cost_usd: nullable(Type.String({ description: "What the provider is owed, by the price before a markup" })),
  provider_price_version: nullable(
    Type.String({ description: "The price of the provider's own row, if what it is owed follows from that" }),
  ),
  markup_percent: nullable(Type.String({ description: "The markup on the price when the request began" })),
  earned_usd: nullable(Type.String({ description: "`charged_usd` without `provider_cost_usd`" })),
});

/** Returns the name of a model that clients send, by its id. */
type NameOf = (model: string) => string;

export function toManagedRequestObject(
  request: RequestDetail,
  charge: ExplainedCharge | undefined,
  nameOfModel: NameOf,
): Static<typeof ManagedRequestObject> {
  const described = toRequestDetailObject(request, charge, nameOfModel);
  return { ...described, price_version: request.price_version, ...describeMargin(request) };
}

export function toRequestObject(request: LoggedRequest, nameOfModel: NameOf): Static<TObject<typeof requestFields>> {
  return { ...toHead(request), ...describeRequest(request), model: request.model && nameOfModel(request.model) };
}

export function toRequestDetailObject(
  request: RequestDetail,
  charge: ExplainedCharge | undefined,
  nameOfModel: NameOf,
): Static<typeof RequestDetailObject> {
  const described = describeRequestDetail(request, charge, (at) => toSeconds(at));
  const model = described.model && nameOfModel(described.model);
  return { ...toHead(request), ...described, model, settled_at: toSeconds(request.settled_at) };
}

function toHead({ id, opened_at: at, account_id: projectId, key_id: keyId }: LoggedRequest) {
  const object = "organization.request" as const;
  return { id, object, created_at: toSeconds(at), project_id: projectId, api_key_id: keyId };
}

function toSeconds<At extends number | null>(at: At): At {
  return (at === null ? null : Math.floor(at / 1000)) as At;
}
