import type { ReactNode } from "react";
import { Link } from "wouter";
import { formatCount, formatUtcDay } from "../../format.ts";
import { CopyButton } from "../../kit/copy.tsx";
import { Dialog } from "../../kit/dialog.tsx";
import { Callout } from "../../kit/feedback.tsx";
import {
  capabilityNames,
  featureNames,
  isRetired,
  listFeatures,
  listOtherNames,
  type Model,
  retiresSoon,
} from "./api.ts";
import { Tier } from "./models-table.tsx";
import { priceLines } from "./price-lines.ts";

export function ModelDialog({ model, onClose }: { model: Model; onClose: () => void }) {
  const { contextTokens, outputTokensMax, inputTokensMax, inputCharactersMax, audioMsMax, dimensions } = model;
  const count = (value: number | undefined, unit: string) =>
    value === undefined ? undefined : `${formatCount(value)} ${unit}`;
  const featureText =
    listFeatures(model)
      .map((name) => featureNames[name])
      .join(", ") || undefined;
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
        <div className="row">
          <Tier model={model} />
          <CopyButton text={model.name} label="Copy model name" shown="Copy model name" />
        </div>
        <dl className="facts">
          <Detail name="Also called">{listOtherNames(model).join(", ") || undefined}</Detail>
          <Detail name="Models">{model.members?.join(", ")}</Detail>
          <Detail name="Price">
            <Price price={model.price} />
          </Detail>
          <Detail name="Features">{featureText}</Detail>
          <Detail name="Context window">{count(contextTokens, "tokens")}</Detail>
          <Detail name="Max output tokens">{outputTokensMax && formatCount(outputTokensMax)}</Detail>
          <Detail name="Max input">
            {count(inputTokensMax, "tokens") ?? count(inputCharactersMax, "characters") ?? formatSeconds(audioMsMax)}
          </Detail>
          <Detail name="Dimensions">{dimensions && formatDimensions(dimensions)}</Detail>
          <Detail name="Voices">{model.voices?.join(", ")}</Detail>
          <Detail name="Default voice">{model.voiceDefault}</Detail>
          <Detail name="Languages">{model.languages?.join(", ")}</Detail>
        </dl>
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

function describe({ capability, ownedBy, members }: Model): string {
  const kind = capabilityNames[capability];
  return members === null
    ? `${kind} by ${ownedBy}`
    : `${kind}: each call goes to the first of its models that can answer it`;
}

function Detail({ name, children }: { name: string; children: ReactNode }) {
  if (children === undefined || children === null) return null;
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
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
      {price?.tiers?.map(({ aboveInputTokens }) => (
        <li key={aboveInputTokens} className="faint">
          different rates above {formatCount(aboveInputTokens)} input tokens
        </li>
      ))}
    </ul>
  );
}

function formatDimensions({ min, max, default: defaultValue }: NonNullable<Model["dimensions"]>): string {
  return min === max
    ? formatCount(max)
    : `${formatCount(min)} to ${formatCount(max)}, ${formatCount(defaultValue)} by default`;
}

function formatSeconds(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : `${ms / 1000} seconds`;
}
