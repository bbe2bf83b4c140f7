// Measures a STEP, IGES or BREP file with Open CASCADE alone, for scripts/check/cad: no triangles are made.
//
//   cad_measure FILE
//
// Prints three lines: the area of all surfaces in square millimetres, the names of the parts (each occurrence of a part
// in an assembly), and the colours of the surfaces in linear light as `red,green,blue`, or `-` for those without one.

#include <cstdio>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include <BRepGProp.hxx>
#include <BRepTools.hxx>
#include <BRep_Builder.hxx>
#include <GProp_GProps.hxx>
#include <IGESCAFControl_Reader.hxx>
#include <Message.hxx>
#include <STEPCAFControl_Reader.hxx>
#include <TDF_LabelSequence.hxx>
#include <TDataStd_Name.hxx>
#include <TDocStd_Document.hxx>
#include <TopoDS_Iterator.hxx>
#include <XCAFApp_Application.hxx>
#include <XCAFDoc_DocumentTool.hxx>
#include <XCAFDoc_ShapeTool.hxx>
#include <XCAFPrs.hxx>
#include <XCAFPrs_IndexedDataMapOfShapeStyle.hxx>

namespace {

struct Found {
    double area = 0.0;
    std::multiset<std::string> parts;
    std::set<std::string> colours;
};

std::string name_of(const TDF_Label& label) {
    Handle(TDataStd_Name) name;
    if (!label.FindAttribute(TDataStd_Name::GetID(), name)) return "";
    std::string text;
    for (int at = 1; at <= name->Get().Length(); ++at) {
        const auto letter = name->Get().Value(at);
        text += letter > 32 && letter < 127 ? static_cast<char>(letter) : '_';
    }
    return text;
}

// The colours of the faces of a shape: a face has its own, or that of the nearest shape around it.
void add_colours(const TopoDS_Shape& shape, const XCAFPrs_IndexedDataMapOfShapeStyle& styles, std::string colour, Found& found) {
    if (styles.Contains(shape) && styles.FindFromKey(shape).IsSetColorSurf()) {
        const Quantity_Color own = styles.FindFromKey(shape).GetColorSurf();
        char text[64];
        std::snprintf(text, sizeof text, "%.3f,%.3f,%.3f", own.Red(), own.Green(), own.Blue());
        colour = text;
    }
    if (shape.ShapeType() == TopAbs_FACE) {
        found.colours.insert(colour);
        return;
    }
    for (TopoDS_Iterator at(shape); at.More(); at.Next()) add_colours(at.Value(), styles, colour, found);
}

bool has_faces(const TopoDS_Shape& shape) {
    if (shape.ShapeType() == TopAbs_FACE) return true;
    for (TopoDS_Iterator at(shape); at.More(); at.Next()) {
        if (has_faces(at.Value())) return true;
    }
    return false;
}

// Counts the parts of a label, which may be an assembly.
void add_parts(const TDF_Label& label, Found& found) {
    TDF_Label part = label;
    if (XCAFDoc_ShapeTool::IsReference(label)) XCAFDoc_ShapeTool::GetReferredShape(label, part);
    TDF_LabelSequence components;
    if (XCAFDoc_ShapeTool::IsAssembly(part)) XCAFDoc_ShapeTool::GetComponents(part, components);
    for (const TDF_Label& component : components) add_parts(component, found);
    const TopoDS_Shape shape = XCAFDoc_ShapeTool::GetShape(part);
    if (components.IsEmpty() && !shape.IsNull() && has_faces(shape)) found.parts.insert(name_of(part));
}

bool ends_with(const std::string& text, const std::string& end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

template <class Reader>
bool read(Reader& reader, const char* file, Handle(TDocStd_Document) & document) {
    reader.SetColorMode(true);
    reader.SetNameMode(true);
    return reader.ReadFile(file) == IFSelect_RetDone && reader.Transfer(document);
}

bool open(const char* file, Handle(TDocStd_Document) & document) {
    if (ends_with(file, ".brep")) {
        TopoDS_Shape shape;
        if (!BRepTools::Read(shape, file, BRep_Builder())) return false;
        XCAFDoc_DocumentTool::ShapeTool(document->Main())->AddShape(shape, false);
        return true;
    }
    if (ends_with(file, ".igs") || ends_with(file, ".iges")) {
        IGESCAFControl_Reader reader;
        return read(reader, file, document);
    }
    STEPCAFControl_Reader reader;
    return read(reader, file, document);
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) {
        std::cerr << "usage: cad_measure FILE\n";
        return 2;
    }
    Message::DefaultMessenger()->ChangePrinters().Clear();
    Handle(TDocStd_Document) document;
    XCAFApp_Application::GetApplication()->NewDocument("BinXCAF", document);
    if (!open(arguments[1], document)) {
        std::cerr << "cannot be read\n";
        return 1;
    }
    Found found;
    TDF_LabelSequence labels;
    XCAFDoc_DocumentTool::ShapeTool(document->Main())->GetFreeShapes(labels);
    for (const TDF_Label& label : labels) {
        const TopoDS_Shape shape = XCAFDoc_ShapeTool::GetShape(label);
        if (shape.IsNull()) continue;
        GProp_GProps surface;
        BRepGProp::SurfaceProperties(shape, surface);
        found.area += surface.Mass();
        XCAFPrs_IndexedDataMapOfShapeStyle styles;
        XCAFPrs::CollectStyleSettings(label, TopLoc_Location(), styles);
        add_colours(shape, styles, "-", found);
        add_parts(label, found);
    }
    std::printf("%.9g\n", found.area);
    for (const auto& part : found.parts) std::cout << (part.empty() ? "-" : part) << ' ';
    std::cout << '\n';
    for (const auto& colour : found.colours) std::cout << colour << ' ';
    std::cout << '\n';
}
