import { capabilityNames, isRetired, type Model } from "../../data/models.ts";
import { formatShort } from "../../format.ts";
import { Table } from "../../ui/table.tsx";
import { shortPrice } from "./price-lines.ts";

export function ModelsTable({ models, onShow }: { models: readonly Model[]; onShow: (model: Model) => void }) {
  return (
    <Table columns={["Model", "Capability", ["Context window", "end"], "Price", "Billing"]}>
      {models.map((model) => (
        <tr key={model.id}>
          <td className="name lead">
            <button type="button" className="link cut" onClick={() => onShow(model)}>
              {model.id}
            </button>
            <span className="sub cut">{model.aliases?.join(", ") ?? model.ownedBy}</span>
          </td>
          <td data-name="Capability">
            <span>
              {capabilityNames[model.capability]}
              {model.voices !== undefined && <span className="faint"> · {model.voices.length} voices</span>}
            </span>
          </td>
          <td className="end" data-name="Context window">
            {formatLimit(model)}
          </td>
          <td data-name="Price">{shortPrice(model.price)}</td>
          <td data-name="Billing">
            <span className="row">
              <Tier model={model} />
            </span>
          </td>
        </tr>
      ))}
    </Table>
  );
}

export function Tier({ model }: { model: Model }) {
  return (
    <>
      <span className={model.premium ? "badge is-accent" : "badge is-good"}>
        {model.premium ? "wallet" : "free quota"}
      </span>
      {isRetired(model) && <span className="badge is-warn">retired</span>}
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
