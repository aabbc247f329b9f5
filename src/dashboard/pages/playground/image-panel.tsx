import { useState } from "react";
import { callWithJson, showCharge } from "../../data/playground-key.ts";
import { Callout } from "../../ui/callout.tsx";
import { Field } from "../../ui/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Empty } from "../../ui/states.tsx";
import { useAction } from "../../ui/use-action.ts";
import { Choice } from "./choice.tsx";
import { curlOf } from "./curl.ts";
import { ModelField, Panel, type PanelProps, useBaseUrl } from "./panel.tsx";

interface Images {
  readonly data: readonly { readonly b64_json: string; readonly revised_prompt?: string }[];
}

const sizes = ["1024x1024", "512x512", "1536x1024", "1024x1536"];

/** Pictures from words. */
export function ImagePanel(props: PanelProps) {
  const [prompt, setPrompt] = useState("");
  const [size, setSize] = useState("1024x1024");
  const [quality, setQuality] = useState("standard");
  const [images, setImages] = useState<Images>();
  const baseUrl = useBaseUrl();
  const body = { model: props.model.id, prompt: prompt === "" ? "A lighthouse at dusk" : prompt, size, quality };
  const { run, isBusy, otherThan } = useAction(async () => {
    try {
      // As base64, so that no address of a picture is left behind.
      const response = await callWithJson("/images/generations", { ...body, response_format: "b64_json" });
      setImages((await response.json()) as Images);
    } finally {
      showCharge();
    }
  });
  const wrong = otherThan();
  return (
    <Panel
      curl={curlOf(`${baseUrl}/images/generations`, body)}
      settings={
        <>
          <ModelField {...props} />
          <Choice label="Size" value={size} options={sizes} onChoose={setSize} />
          <Choice label="Quality" value={quality} options={["standard", "hd"]} onChoose={setQuality} />
        </>
      }
    >
      <section className="card card-body stack" aria-label="Image">
        <Field label="What should be in the picture?">
          {(tied) => (
            <textarea
              {...tied}
              className="input"
              rows={3}
              placeholder="A lighthouse at dusk"
              value={prompt}
              onChange={(event) => setPrompt(event.target.value)}
            />
          )}
        </Field>
        <div className="row">
          <button
            type="button"
            className="btn btn-primary"
            disabled={isBusy || prompt.trim() === ""}
            onClick={() => void run()}
          >
            <Icon name="image" size={15} />
            {isBusy ? "Making…" : "Make the picture"}
          </button>
        </div>
        {wrong !== undefined && <Callout tone="bad">{wrong}</Callout>}
        {images === undefined ? (
          <Empty icon="image" title="No picture yet" />
        ) : (
          images.data.map(({ b64_json, revised_prompt }) => (
            <figure key={b64_json.slice(-80)} className="picture">
              <img src={`data:${mediaTypeOf(b64_json)};base64,${b64_json}`} alt={revised_prompt ?? prompt} />
              {revised_prompt !== undefined && <figcaption className="faint">{revised_prompt}</figcaption>}
            </figure>
          ))
        )}
      </section>
    </Panel>
  );
}

/** By how it begins; the answer does not say. */
function mediaTypeOf(base64: string): string {
  if (base64.startsWith("/9j/")) return "image/jpeg";
  return base64.startsWith("UklGR") ? "image/webp" : "image/png";
}
