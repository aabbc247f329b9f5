import { useState } from "react";
import { SelectField, TextAreaField } from "../../kit/field.tsx";
import {
  CallCard,
  FileField,
  findFileError,
  ModelField,
  Panel,
  type PanelProps,
  TaskField,
  toCurl,
  toForm,
  toFormCurl,
  useSecondTask,
} from "./panel.tsx";
import { callApi, callApiWithJson } from "./playground-key.ts";

interface Images {
  readonly data: readonly { readonly b64_json: string; readonly revised_prompt?: string }[];
}

const qualities = [
  ["standard", "Standard"],
  ["hd", "HD"],
] as const;
const sizes = ["1024x1024", "512x512", "1536x1024", "1024x1536"];

const endings = [".png", ".jpg", ".jpeg", ".webp"];
const editExample = "The same at night";

/** Images made of a prompt, or of a prompt and another image. */
export function ImagesPanel(props: PanelProps) {
  const [prompt, setPrompt] = useState("");
  const [file, setFile] = useState<File>();
  const [size, setSize] = useState("1024x1024");
  const [quality, setQuality] = useState("standard");
  const [images, setImages] = useState<Images>();
  // As in requests, a model whose features are unknown may accept edits.
  const edit = useSecondTask(props, "edit", ({ features }) => features?.includes("edits") !== false);
  const isEdit = edit.isChosen;
  const example = isEdit ? editExample : "A lighthouse at dusk";
  const body = { model: edit.panel.model.id, prompt: prompt === "" ? example : prompt, size, quality };
  const call = async () => {
    // Requested as base64 to keep the gateway from storing the images.
    const fields = { ...body, response_format: "b64_json" };
    const source = isEdit ? file : undefined;
    const response =
      source === undefined
        ? await callApiWithJson("/images/generations", fields)
        : await callApi("/images/edits", toForm(["image", source], fields));
    setImages((await response.json()) as Images);
  };
  const fileError = findFileError(file, "image", endings);
  const hasFile = file !== undefined && fileError === undefined;
  return (
    <Panel
      curl={(baseUrl) =>
        isEdit
          ? toFormCurl(`${baseUrl}/images/edits`, ["image", file?.name ?? "image.png"], body)
          : toCurl(`${baseUrl}/images/generations`, body)
      }
      settings={
        <>
          <TaskField
            second={edit}
            labels={["Generate an image", "Edit an image"]}
            onChoose={() => {
              setImages(undefined);
              setFile(undefined);
            }}
          />
          <ModelField {...edit.panel} />
          <SelectField label="Size" value={size} options={sizes.map((name) => [name, name])} onText={setSize} />
          <SelectField label="Quality" value={quality} options={qualities} onText={setQuality} />
        </>
      }
    >
      <CallCard
        label="Image"
        icon="image"
        action={isEdit ? ["Edit image", "Editing…", "No image yet"] : ["Generate image", "Generating…", "No image yet"]}
        isComplete={prompt.trim() !== "" && (!isEdit || hasFile)}
        call={call}
        fields={
          <>
            {isEdit && (
              <FileField
                label="Image to edit"
                hint="png, jpeg or webp, up to 25 MB"
                error={fileError}
                endings={endings}
                onFile={setFile}
              />
            )}
            <TextAreaField label="Prompt" rows={3} placeholder={example} value={prompt} onText={setPrompt} />
          </>
        }
      >
        {images?.data.map(({ b64_json, revised_prompt }) => (
          <figure key={b64_json.slice(-80)} className="picture">
            <img src={`data:${detectImageType(b64_json)};base64,${b64_json}`} alt={revised_prompt ?? prompt} />
            {revised_prompt !== undefined && <figcaption className="faint">{revised_prompt}</figcaption>}
          </figure>
        ))}
      </CallCard>
    </Panel>
  );
}

/** Detected from the first bytes; the response does not say. */
function detectImageType(base64: string): string {
  if (base64.startsWith("/9j/")) return "image/jpeg";
  return base64.startsWith("UklGR") ? "image/webp" : "image/png";
}
