import type { ReactNode } from "react";
import { Link } from "wouter";
import { formatCount, formatUtcDay } from "../../format.ts";
import { CopyButton } from "../../kit/copy.tsx";
import { Dialog } from "../../kit/dialog.tsx";
import { Callout } from "../../kit/feedback.tsx";
import { capabilityNames, featureNames, isRetired, listFeatures, type Model, retiresSoon } from "./api.ts";
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
    <Dialog title={model.id} description={`${capabilityNames[model.capability]} by ${model.ownedBy}`} onClose={onClose}>
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
          <CopyButton text={model.id} label="Copy model ID" shown="Copy model ID" />
        </div>
        <dl className="facts">
          <Detail name="Aliases">{model.aliases?.join(", ")}</Detail>
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
        <Link className="btn btn-primary" href={`/playground?model=${encodeURIComponent(model.id)}`}>
          Try in playground
        </Link>
      </footer>
    </Dialog>
  );
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
