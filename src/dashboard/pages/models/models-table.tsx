import { capabilityNames, isRetired, type Model } from "../../data/models.ts";
import { formatShort } from "../../format.ts";
import { shortPrice } from "./price-lines.ts";

/** One line a model; the name opens all that is known of it. */
export function ModelsTable({ models, onShow }: { models: readonly Model[]; onShow: (model: Model) => void }) {
  return (
    <div className="table-wrap">
      <table className="table is-cards">
        <thead>
          <tr>
            <th scope="col">Model</th>
            <th scope="col">Capability</th>
            <th scope="col" className="end">
              Takes at most
            </th>
            <th scope="col">Price</th>
            <th scope="col">Paid by</th>
          </tr>
        </thead>
        <tbody>
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
              <td className="end" data-name="Takes at most">
                {boundOf(model)}
              </td>
              <td data-name="Price">{shortPrice(model.price)}</td>
              <td data-name="Paid by">
                <span className="row">
                  <Tier model={model} />
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function Tier({ model }: { model: Model }) {
  return (
    <>
      <span className={model.premium ? "badge is-accent" : "badge is-good"}>
        {model.premium ? "premium" : "free quota"}
      </span>
      {isRetired(model) && <span className="badge is-warn">retired</span>}
    </>
  );
}

/** The one bound that is asked for first. */
function boundOf({ contextTokens, inputTokensMax, inputCharactersMax, audioMsMax }: Model): string {
  if (contextTokens !== undefined) return `${formatShort(contextTokens)} tokens`;
  if (inputTokensMax !== undefined) return `${formatShort(inputTokensMax)} tokens`;
  if (inputCharactersMax !== undefined) return `${formatShort(inputCharactersMax)} characters`;
  return audioMsMax === undefined ? "–" : `${audioMsMax / 1000} s`;
}
