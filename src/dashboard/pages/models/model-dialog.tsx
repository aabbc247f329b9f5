import type { ReactNode } from "react";
import { Link } from "wouter";
import { capabilityNames, isRetired, type Model } from "../../data/models.ts";
import { formatCount } from "../../format.ts";
import { Callout } from "../../ui/callout.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Tier } from "./models-table.tsx";
import { priceLines } from "./price-lines.ts";

/** All that is known of a model. */
export function ModelDialog({ model, onClose }: { model: Model; onClose: () => void }) {
  const { contextTokens, outputTokensMax, inputTokensMax, inputCharactersMax, audioMsMax, dimensions } = model;
  const count = (value: number | undefined, unit: string) =>
    value === undefined ? undefined : `${formatCount(value)} ${unit}`;
  return (
    <Dialog title={model.id} about={`${capabilityNames[model.capability]} by ${model.ownedBy}`} onClose={onClose}>
      <div className="dialog-body">
        {isRetired(model) && (
          <Callout tone="warn">
            Its provider took it out of service on {model.retiredOn}
            {model.successor !== undefined && `; ${model.successor} comes after it`}.
          </Callout>
        )}
        <div className="row">
          <Tier model={model} />
          <CopyButton text={model.id} label="Copy the model's name" />
        </div>
        <dl className="facts">
          <Fact name="Aliases">{model.aliases?.join(", ")}</Fact>
          <Fact name="Price">
            <Price price={model.price} />
          </Fact>
          <Fact name="Context">{count(contextTokens, "tokens")}</Fact>
          <Fact name="Answer at most">{count(outputTokensMax, "tokens")}</Fact>
          <Fact name="Input at most">
            {count(inputTokensMax, "tokens") ?? count(inputCharactersMax, "characters") ?? secondsOf(audioMsMax)}
          </Fact>
          <Fact name="Dimensions">{dimensions && sizesOf(dimensions)}</Fact>
          <Fact name="Voices">{model.voices?.join(", ")}</Fact>
          <Fact name="Default voice">{model.voiceDefault}</Fact>
          <Fact name="Languages">{model.languages?.join(", ")}</Fact>
        </dl>
      </div>
      <footer className="dialog-foot">
        <Link className="btn btn-primary" href={`/playground?model=${encodeURIComponent(model.id)}`}>
          Try it in the playground
        </Link>
      </footer>
    </Dialog>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
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
  if (lines.length === 0) return "not known";
  return (
    <ul>
      {lines.map(({ usd, words }) => (
        <li key={words}>
          {usd} <span className="soft">{words}</span>
        </li>
      ))}
      {price?.tiers?.map(({ aboveInputTokens }) => (
        <li key={aboveInputTokens} className="faint">
          other rates above {formatCount(aboveInputTokens)} input tokens
        </li>
      ))}
    </ul>
  );
}

function sizesOf({ min, max, default: usual }: NonNullable<Model["dimensions"]>): string {
  return min === max
    ? formatCount(max)
    : `${formatCount(min)} to ${formatCount(max)}, ${formatCount(usual)} by default`;
}

function secondsOf(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : `${ms / 1000} seconds`;
}
