import { useState } from "react";
import { Link } from "wouter";
import { maySeeAll } from "../../data/roles.ts";
import { useMe } from "../../data/session.ts";
import { readChartSpan } from "../../data/time-range.ts";
import { formatCount, formatMs, formatShare, formatUsd, formatUtcDay } from "../../format.ts";
import { CopyButton } from "../../kit/copy.tsx";
import { Dialog } from "../../kit/dialog.tsx";
import { Callout } from "../../kit/feedback.tsx";
import { TextField } from "../../kit/field.tsx";
import { Fact } from "../../kit/page.tsx";
import { useReroutes } from "../incidents/api.ts";
import { RerouteNotices } from "../incidents/reroute-notices.tsx";
import { useStatistics } from "../statistics/api.ts";
import { capabilityNames, featureNames, listFeatures, listOtherNames, type Model } from "./api.ts";
import { Tier } from "./models-table.tsx";
import { priceLines } from "./price-lines.ts";
import { isRetired, retiresSoon } from "./retirement.ts";

export function ModelDialog({ model, onClose }: { model: Model; onClose: () => void }) {
  const { contextTokens, outputTokensMax, inputTokensMax, inputCharactersMax, audioMsMax, dimensions } = model;
  const count = (value: number | undefined, unit: string) =>
    value === undefined ? undefined : `${formatCount(value)} ${unit}`;
  const featureText = listFeatures(model)
    .map((name) => featureNames[name])
    .join(", ");
  const featuresUnknown = model.capability === "chat" && model.features === undefined;
  return (
    <Dialog title={model.name} description={describe(model)} onClose={onClose}>
      <div className="dialog-body">
        {(isRetired(model) || retiresSoon(model)) && (
          <Callout tone="warn">
            {isRetired(model) ? "Retired by the provider on" : "The provider retires this model on"}{" "}
            {formatUtcDay(model.retiredOn ?? null)}
            {model.successor !== undefined && `; use ${model.successor} instead`}.
          </Callout>
        )}
        <Reroutes model={model} />
        <div className="row">
          <Tier model={model} />
          <CopyButton text={model.name} label="Copy model name" shown="Copy model name" />
        </div>
        <dl className="facts">
          <Fact name="Also called">{listOtherNames(model).join(", ") || undefined}</Fact>
          <Fact name="Models">{model.members?.join(", ")}</Fact>
          <Fact name="Price">
            <Price price={model.price} />
          </Fact>
          <Fact name="Features">
            {featuresUnknown ? [featureText, "others are unknown"].filter(Boolean).join("; ") : featureText}
          </Fact>
          <Fact name="Context window">{count(contextTokens, "tokens")}</Fact>
          <Fact name="Max output tokens">{outputTokensMax && formatCount(outputTokensMax)}</Fact>
          <Fact name="Max input">
            {count(inputTokensMax, "tokens") ?? count(inputCharactersMax, "characters") ?? formatSeconds(audioMsMax)}
          </Fact>
          <Fact name="Dimensions">{dimensions && formatDimensions(dimensions)}</Fact>
          <Fact name="Voices">{model.voices?.join(", ")}</Fact>
          <Fact name="Default voice">{model.voiceDefault}</Fact>
          <Fact name="Languages">{model.languages?.join(", ")}</Fact>
          <Measured model={model} />
        </dl>
        <Calculator price={model.price} />
      </div>
      <footer className="dialog-foot">
        <Link className="btn" href={`/connect?model=${encodeURIComponent(model.name)}`}>
          Connect
        </Link>
        <Link className="btn btn-primary" href={`/playground?model=${encodeURIComponent(model.name)}`}>
          Try in playground
        </Link>
      </footer>
    </Dialog>
  );
}

/** That another model answers, for those who see the whole gateway. */
function Reroutes({ model: { name } }: { model: Model }) {
  const { data: me } = useMe();
  const { data = [] } = useReroutes(me !== undefined && maySeeAll(me.role));
  return <RerouteNotices reroutes={data.filter((one) => one.subject === "model" && one.name === name)} />;
}

/** How fast and how reliable the model was here in the last 30 days: for all accounts, as far as the user sees them. */
function Measured({ model: { id } }: { model: Model }) {
  const { data: me } = useMe();
  const { from, to } = readChartSpan(new URLSearchParams(), Date.now());
  const ofOwn = me !== undefined && !maySeeAll(me.role) ? { account: me.account } : {};
  const query = { from, to, interval: "day", group_by: "plugin", metric: "requests", model: id, ...ofOwn } as const;
  const { data } = useStatistics(query);
  if (data === undefined || data.totals.requests === 0) return null;
  const { requests, errors, first_byte_ms: first, duration_ms: duration } = data.totals;
  return (
    <Fact name="Measured here">
      {formatCount(requests)} requests in 30 days, {formatShare(errors / requests)} failed; time to first token{" "}
      {formatMs(first.p50)}, in all {formatMs(duration.p50)} (p95 {formatMs(duration.p95)})
    </Fact>
  );
}

/** The cost of a call of a model that is priced by tokens. */
function Calculator({ price }: { price: Model["price"] }) {
  const [input, setInput] = useState("1000");
  const [output, setOutput] = useState("500");
  const [calls, setCalls] = useState("1000");
  if (price?.inputToken === undefined || price.outputToken === undefined) return null;
  const count = (text: string) => (/^\d{1,12}$/.test(text.trim()) ? Number(text) : undefined);
  const [inputs, outputs, times] = [count(input), count(output), count(calls)];
  const tier = price.tiers?.findLast(({ aboveInputTokens }) => (inputs ?? 0) > aboveInputTokens);
  const rate = (of: { usd: string; per: number }) => Number(of.usd) / of.per;
  const cost =
    inputs === undefined || outputs === undefined || times === undefined
      ? undefined
      : times *
        (inputs * rate(tier?.inputToken ?? price.inputToken) + outputs * rate(tier?.outputToken ?? price.outputToken));
  return (
    <details className="more">
      <summary>What would it cost?</summary>
      <div className="stack">
        <div className="split">
          <TextField label="Input tokens" inputMode="numeric" value={input} onText={setInput} />
          <TextField label="Output tokens" inputMode="numeric" value={output} onText={setOutput} />
          <TextField label="Calls" inputMode="numeric" value={calls} onText={setCalls} />
        </div>
        <p role="status">{cost === undefined ? "Enter whole numbers" : `${formatUsd(cost)}`}</p>
      </div>
    </details>
  );
}

function describe({ capability, ownedBy, members }: Model): string {
  const kind = capabilityNames[capability];
  return members === null
    ? `${kind} by ${ownedBy}`
    : `${kind}: each call goes to the first of its models that can answer it`;
}

function Price({ price }: { price: Model["price"] }) {
  const lines = priceLines(price);
  if (lines.length === 0) return "unknown";
  return (
    <ul>
      {lines.map(({ usd, unit }) => (
        <li key={unit}>
          {usd} <span className="soft">{unit}</span>
        </li>
      ))}
      {price?.tiers?.map(({ aboveInputTokens, ...rates }) => (
        <li key={aboveInputTokens} className="soft">
          above {formatCount(aboveInputTokens)} input tokens: {describeRates(rates)}
        </li>
      ))}
      {Object.entries(price?.serviceTiers ?? {}).map(([tier, rates]) => (
        <li key={tier} className="soft">
          service tier {tier}: {describeRates(rates)}
        </li>
      ))}
    </ul>
  );
}

/** Describes further rates of a price, such as the rates for long prompts. */
function describeRates(rates: NonNullable<Model["price"]>): string {
  const lines = priceLines(rates);
  return lines.map(({ usd, unit }) => `${usd} ${unit}`).join(", ");
}

function formatDimensions({ min, max, default: defaultValue }: NonNullable<Model["dimensions"]>): string {
  return min === max
    ? formatCount(max)
    : `${formatCount(min)} to ${formatCount(max)}, ${formatCount(defaultValue)} by default`;
}

function formatSeconds(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : `${ms / 1000} seconds`;
}
