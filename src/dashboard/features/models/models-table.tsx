import { formatShort, formatUtcDay } from "../../format.ts";
import { LinkButton } from "../../kit/button.tsx";
import { Empty } from "../../kit/feedback.tsx";
import { Table } from "../../kit/table.tsx";
import { capabilityNames, listOtherNames, type Model } from "./api.ts";
import { firstRate, shortPrice } from "./price-lines.ts";
import { isRetired, retiresSoon } from "./retirement.ts";

export function ModelsTable({ models, onShow }: { models: readonly Model[]; onShow: (model: Model) => void }) {
  return (
    <Table
      rows={models}
      rowKey={({ id }) => id}
      shownMax={50}
      fileName="models"
      empty={
        <Empty icon="search" title="No models match">
          <p>Try another search or clear the filters.</p>
        </Empty>
      }
      columns={[
        {
          name: "Model",
          className: "name lead",
          sort: ({ name }) => name,
          cell: (model) => (
            <>
              <LinkButton look="link cut" onClick={() => onShow(model)}>
                {model.name}
              </LinkButton>
              <span className="sub cut">
                {[...(model.simulated === true ? ["simulated"] : []), ...listOtherNames(model)].join(", ")}
              </span>
            </>
          ),
        },
        { name: "Maker", className: "wide-only", sort: ({ ownedBy }) => ownedBy, cell: ({ ownedBy }) => ownedBy },
        {
          name: "Capability",
          className: "wide-only",
          sort: ({ capability }) => capabilityNames[capability],
          cell: ({ capability, voices }) => (
            <span>
              {capabilityNames[capability]}
              {voices !== undefined && <span className="faint"> · {voices.length} voices</span>}
            </span>
          ),
        },
        {
          name: "Context window",
          className: "end wide-only",
          sort: ({ contextTokens, inputTokensMax }) => contextTokens ?? inputTokensMax,
          cell: formatLimit,
        },
        {
          name: "Price",
          className: "tight",
          sort: ({ price }) => firstRate(price),
          cell: ({ price }) => <ShortPrice price={price} />,
        },
        {
          name: "Billing",
          sort: ({ premium }) => Number(premium),
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

export function ShortPrice({ price }: { price: Model["price"] }) {
  const short = shortPrice(price);
  if (short === undefined) return "–";
  return (
    <span>
      {short.usd} <span className="sub">{short.unit}</span>
    </span>
  );
}

export function Tier({ model }: { model: Model }) {
  return (
    <>
      <span className={model.premium ? "badge is-accent" : "badge is-good"}>
        {model.premium ? "wallet" : "free quota"}
      </span>
      {model.members !== null && <span className="badge">virtual</span>}
      {isRetired(model) && <span className="badge is-warn">retired</span>}
      {retiresSoon(model) && <span className="badge is-warn">retires {formatUtcDay(model.retiredOn ?? null)}</span>}
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
