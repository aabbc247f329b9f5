import { capabilityNames, isRetired, type Model, retiresSoon } from "../../data/models.ts";
import { formatShort } from "../../format.ts";
import { LinkButton } from "../../ui/button.tsx";
import { Empty } from "../../ui/feedback.tsx";
import { Table } from "../../ui/table.tsx";
import { shortPrice } from "./price-lines.ts";

export function ModelsTable({ models, onShow }: { models: readonly Model[]; onShow: (model: Model) => void }) {
  return (
    <Table
      rows={models}
      rowKey={({ id }) => id}
      empty={
        <Empty icon="search" title="No models match">
          <p>Try another search or clear the filters.</p>
        </Empty>
      }
      columns={[
        {
          name: "Model",
          className: "name lead",
          cell: (model) => (
            <>
              <LinkButton look="link cut" onClick={() => onShow(model)}>
                {model.id}
              </LinkButton>
              <span className="sub cut">{model.aliases?.join(", ") ?? model.ownedBy}</span>
            </>
          ),
        },
        {
          name: "Capability",
          cell: ({ capability, voices }) => (
            <span>
              {capabilityNames[capability]}
              {voices !== undefined && <span className="faint"> · {voices.length} voices</span>}
            </span>
          ),
        },
        { name: "Context window", className: "end", cell: formatLimit },
        { name: "Price", cell: ({ price }) => shortPrice(price) },
        {
          name: "Billing",
          cell: (model) => (
            <span className="row">
              <Tier model={model} />
            </span>
          ),
        },
      ]}
    />
  );
}

export function Tier({ model }: { model: Model }) {
  return (
    <>
      <span className={model.premium ? "badge is-accent" : "badge is-good"}>
        {model.premium ? "wallet" : "free quota"}
      </span>
      {isRetired(model) && <span className="badge is-warn">retired</span>}
      {retiresSoon(model) && <span className="badge is-warn">ends {model.retiredOn}</span>}
    </>
  );
}

/** The context window, or the input limit of models without one. */
function formatLimit({ contextTokens, inputTokensMax, inputCharactersMax, audioMsMax }: Model): string {
  if (contextTokens !== undefined) return `${formatShort(contextTokens)} tokens`;
  if (inputTokensMax !== undefined) return `${formatShort(inputTokensMax)} tokens`;
  if (inputCharactersMax !== undefined) return `${formatShort(inputCharactersMax)} characters`;
  return audioMsMax === undefined ? "–" : `${audioMsMax / 1000} s`;
}
