import { TextAreaField } from "../../kit/field.tsx";
import { FormDialog, useForm } from "../../kit/form.tsx";
import { toast } from "../../kit/toast.tsx";
import { type CatalogueDocument, writeText } from "./api.ts";

/** All files of the operator as one JSON document. */
export function JsonDialog({ document, onClose }: { document: CatalogueDocument; onClose: () => void }) {
  const form = useForm({ json: JSON.stringify(document.files, null, 2) }, async ({ json }) => {
    await writeText(json, document.revision);
    toast("Models and prices are saved");
    onClose();
  });
  return (
    <FormDialog
      title="Edit as JSON"
      description="Your own files, by name. They are checked as a whole, and nothing is written if one is wrong."
      form={form}
      isComplete={form.values.json.trim() !== ""}
      isWide
      onClose={onClose}
    >
      <TextAreaField
        label="Files"
        rows={18}
        spellCheck={false}
        hint={
          <>
            The file <code>openai</code> is <code>catalogue/openai.json</code> in the gateway’s home. Scripts read and
            write the same by <code>GET</code> and <code>PUT</code> of <code>/v1/organization/catalogue</code>.
          </>
        }
        {...form.field("json")}
      />
    </FormDialog>
  );
}
