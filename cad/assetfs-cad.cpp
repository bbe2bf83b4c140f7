// assetfs-cad: reads a STEP, IGES or BREP file and writes its surfaces as triangles into a GLB file.
//
//   assetfs-cad INPUT OUTPUT.glb DEFLECTION ANGLE
//
// DEFLECTION is the largest distance between a surface and its triangles, as a share of the diagonal of the model's
// bounding box. ANGLE is the largest angle between neighbouring triangles of a curved surface, in degrees. The output
// keeps the tree of parts, their names, their colours and repeated parts; y is up and the unit is the metre.
//
// It is a program of its own because Open CASCADE (LGPL) stays outside of assetfs, and because a damaged file may end
// the process. It opens no file but INPUT and OUTPUT. Standard output: a line with the numbers of surfaces, of surfaces
// without triangles and of triangles, then a line for each kind of thing that is not read. Errors go to standard error,
// one a line. Exit codes: 0 written, 1 cannot be read, 2 wrong use, 3 not enough memory, 4 the file has no surfaces.

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <BRepBndLib.hxx>
#include <BRepMesh_IncrementalMesh.hxx>
#include <BRepTools.hxx>
#include <BRep_Builder.hxx>
#include <BRep_Tool.hxx>
#include <Bnd_Box.hxx>
#include <IGESCAFControl_Reader.hxx>
#include <IGESData_IGESEntity.hxx>
#include <IGESData_IGESModel.hxx>
#include <Message.hxx>
#include <RWGltf_CafWriter.hxx>
#include <STEPCAFControl_Reader.hxx>
#include <STEPConstruct_ExternRefs.hxx>
#include <Standard_Failure.hxx>
#include <Standard_OutOfMemory.hxx>
#include <StepBasic_Document.hxx>
#include <StepBasic_ExternalIdentificationAssignment.hxx>
#include <StepBasic_ExternalSource.hxx>
#include <StepData_StepModel.hxx>
#include <StepDimTol_GeometricTolerance.hxx>
#include <StepShape_DimensionalLocation.hxx>
#include <StepShape_DimensionalSize.hxx>
#include <StepVisual_AnnotationOccurrence.hxx>
#include <StepVisual_TessellatedAnnotationOccurrence.hxx>
#include <TCollection_ExtendedString.hxx>
#include <TCollection_HAsciiString.hxx>
#include <TDF_LabelSequence.hxx>
#include <TDataStd_Name.hxx>
#include <TDocStd_Document.hxx>
#include <TopExp_Explorer.hxx>
#include <TopoDS.hxx>
#include <TopoDS_Compound.hxx>
#include <TopoDS_Iterator.hxx>
#include <XCAFApp_Application.hxx>
#include <XCAFDoc_DocumentTool.hxx>
#include <XCAFDoc_ShapeTool.hxx>
#include <XSControl_WorkSession.hxx>

namespace {

enum class Outcome { Written = 0, Unreadable = 1, WrongUse = 2, OutOfMemory = 3, Empty = 4 };

// A readable file whose content is wrong.
struct Unreadable : std::runtime_error {
    using std::runtime_error::runtime_error;
};

enum class Format { Step, Iges, Brep, Unknown };

Format format_of(const std::string& path) {
    const auto dot = path.rfind('.');
    std::string extension = dot == std::string::npos ? "" : path.substr(dot + 1);
    for (char& letter : extension) {
        letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    }
    if (extension == "step" || extension == "stp") return Format::Step;
    if (extension == "iges" || extension == "igs") return Format::Iges;
    if (extension == "brep") return Format::Brep;
    return Format::Unknown;
}

// Lines about what is not read.
using Notes = std::vector<std::string>;

// Adds a line about things of one kind, if there are any.
void note(Notes& notes, long count, const char* one, const char* many) {
    if (count == 1) notes.push_back(std::string("1 ") + one + " is not read");
    if (count > 1) notes.push_back(std::to_string(count) + " " + many + " are not read");
}

// What a drawing tells beside the shapes.
struct Remarks {
    long measures = 0;
    long texts = 0;

    void add_to(Notes& notes) const {
        note(notes, measures, "measure or tolerance", "measures and tolerances");
        note(notes, texts, "note beside the model", "notes beside the model");
    }
};

// Prepares to read names and colours of parts, and reads the file. Lengths become millimetres, whatever its unit.
template <class Reader>
void load(Reader& reader, const std::string& path) {
    reader.SetColorMode(true);
    reader.SetNameMode(true);
    reader.SetLayerMode(false);
    if (reader.ReadFile(path.c_str()) != IFSelect_RetDone) {
        throw Unreadable("it is damaged, or its content is of another format");
    }
}

template <class Reader>
void transfer(Reader& reader, Handle(TDocStd_Document) & document) {
    if (!reader.Transfer(document)) {
        throw Unreadable("none of its shapes can be read");
    }
}

// The names of the other files that a STEP file refers to.
std::set<std::string> other_files(const Handle(XSControl_WorkSession) & session) {
    STEPConstruct_ExternRefs references(session);
    references.LoadExternRefs();
    std::set<std::string> names;
    for (int at = 1; at <= references.NbExternRefs(); ++at) {
        const Standard_CString name = references.FileName(at);
        if (name != nullptr && *name != '\0') names.insert(name);
    }
    return names;
}

std::string listed(const std::set<std::string>& names) {
    constexpr std::size_t most = 5;
    std::string list;
    std::size_t count = 0;
    for (const std::string& name : names) {
        if (++count > most) break;
        list += (count == 1 ? "\"" : ", \"") + name + "\"";
    }
    for (char& letter : list) {
        if (std::iscntrl(static_cast<unsigned char>(letter))) letter = ' ';
    }
    if (names.size() > most) list += " and " + std::to_string(names.size() - most) + " more";
    return list;
}

// Removes the names of other files. Open CASCADE would read each of them in `Transfer`, wherever it is, and skips those
// without a name.
void forget_other_files(const STEPCAFControl_Reader& reader) {
    const auto model = reader.Reader().StepModel();
    const Handle(TCollection_HAsciiString) nothing = new TCollection_HAsciiString();
    for (int at = 1; at <= model->NbEntities(); ++at) {
        const auto entity = model->Value(at);
        const auto name = Handle(StepBasic_ExternalIdentificationAssignment)::DownCast(entity);
        if (!name.IsNull()) {
            name->SetAssignedId(nothing);
            name->SetSource(nullptr);
        }
        const auto document = Handle(StepBasic_Document)::DownCast(entity);
        if (!document.IsNull()) document->SetId(nothing);
    }
    if (!other_files(reader.Reader().WS()).empty()) {
        throw Unreadable("it names other files in a way that cannot be left out");
    }
}

Remarks remarks_of(const Handle(StepData_StepModel) & model) {
    Remarks found;
    for (int at = 1; at <= model->NbEntities(); ++at) {
        const auto entity = model->Value(at);
        const auto is = [&](const Handle(Standard_Type) & kind) { return entity->IsKind(kind); };
        if (is(STANDARD_TYPE(StepShape_DimensionalSize)) || is(STANDARD_TYPE(StepShape_DimensionalLocation)) ||
            is(STANDARD_TYPE(StepDimTol_GeometricTolerance))) {
            found.measures += 1;
        } else if (is(STANDARD_TYPE(StepVisual_AnnotationOccurrence)) ||
                   is(STANDARD_TYPE(StepVisual_TessellatedAnnotationOccurrence))) {
            found.texts += 1;
        }
    }
    return found;
}

// By the numbers of entity types in the specification of IGES. The notes of a dimension are parts of it.
Remarks remarks_of(const Handle(IGESData_IGESModel) & model) {
    const std::set<int> measures{202, 204, 206, 216, 218, 220, 222};
    const std::set<int> texts{208, 210, 212, 213};
    Remarks found;
    for (int at = 1; at <= model->NbEntities(); ++at) {
        const auto entity = model->Entity(at);
        if (entity->SubordinateStatus() != 0) continue;
        found.measures += measures.count(entity->TypeNumber());
        found.texts += texts.count(entity->TypeNumber());
    }
    return found;
}

void read_step(const std::string& path, Handle(TDocStd_Document) & document, Notes& notes) {
    STEPCAFControl_Reader reader;
    load(reader, path);
    const auto names = other_files(reader.Reader().WS());
    if (!names.empty()) {
        notes.push_back("it names other files, which are not read: " + listed(names));
        forget_other_files(reader);
    }
    remarks_of(reader.Reader().StepModel()).add_to(notes);
    transfer(reader, document);
}

void read_iges(const std::string& path, Handle(TDocStd_Document) & document, Notes& notes) {
    IGESCAFControl_Reader reader;
    load(reader, path);
    remarks_of(reader.IGESModel()).add_to(notes);
    transfer(reader, document);
}

// The parts of a shape: the solids and shells in its compounds. Surfaces and curves that belong to none of them are one
// part.
std::vector<TopoDS_Shape> parts_of(const TopoDS_Shape& shape) {
    std::vector<TopoDS_Shape> parts;
    TopoDS_Compound loose;
    BRep_Builder builder;
    std::vector<TopoDS_Shape> left{shape};
    while (!left.empty()) {
        const TopoDS_Shape next = left.back();
        left.pop_back();
        if (next.ShapeType() == TopAbs_COMPOUND) {
            std::vector<TopoDS_Shape> inside;
            for (TopoDS_Iterator at(next); at.More(); at.Next()) inside.push_back(at.Value());
            left.insert(left.end(), inside.rbegin(), inside.rend());
        } else if (next.ShapeType() <= TopAbs_SHELL) {
            parts.push_back(next);
        } else {
            if (loose.IsNull()) builder.MakeCompound(loose);
            builder.Add(loose, next);
        }
    }
    if (parts.empty()) return {shape};
    if (!loose.IsNull()) parts.push_back(loose);
    return parts;
}

void read_brep(const std::string& path, const Handle(TDocStd_Document) & document) {
    TopoDS_Shape shape;
    if (!BRepTools::Read(shape, path.c_str(), BRep_Builder()) || shape.IsNull()) {
        throw Unreadable("it is damaged, or its content is of another format");
    }
    const auto tool = XCAFDoc_DocumentTool::ShapeTool(document->Main());
    const std::vector<TopoDS_Shape> parts = parts_of(shape);
    if (parts.size() < 2) {
        tool->AddShape(shape, false);
        return;
    }
    // The format has no names. Repeated parts have the name of the first.
    XCAFDoc_ShapeTool::SetAutoNaming(false);
    for (std::size_t at = 0; at < parts.size(); ++at) {
        const TCollection_ExtendedString name(("Part " + std::to_string(at + 1)).c_str());
        const TDF_Label label = tool->AddShape(parts[at], false);
        TDataStd_Name::Set(label, name);
        TDF_Label repeated;
        Handle(TDataStd_Name) known;
        if (XCAFDoc_ShapeTool::GetReferredShape(label, repeated) &&
            !repeated.FindAttribute(TDataStd_Name::GetID(), known)) {
            TDataStd_Name::Set(repeated, name);
        }
    }
}

// All shapes that stand alone, in one.
TopoDS_Compound whole(const Handle(TDocStd_Document) & document) {
    TDF_LabelSequence labels;
    XCAFDoc_DocumentTool::ShapeTool(document->Main())->GetFreeShapes(labels);
    TopoDS_Compound compound;
    BRep_Builder builder;
    builder.MakeCompound(compound);
    for (const TDF_Label& label : labels) {
        const TopoDS_Shape shape = XCAFDoc_ShapeTool::GetShape(label);
        if (!shape.IsNull()) builder.Add(compound, shape);
    }
    return compound;
}

struct Counts {
    long faces = 0;
    long faces_without_triangles = 0;
    long triangles = 0;
};

Counts counts_of(const TopoDS_Shape& shape) {
    Counts counts;
    for (TopExp_Explorer at(shape, TopAbs_FACE); at.More(); at.Next()) {
        TopLoc_Location location;
        const auto triangles = BRep_Tool::Triangulation(TopoDS::Face(at.Current()), location);
        counts.faces += 1;
        if (triangles.IsNull() || triangles->NbTriangles() == 0) {
            counts.faces_without_triangles += 1;
        } else {
            counts.triangles += triangles->NbTriangles();
        }
    }
    return counts;
}

// The number of edges that belong to no surface.
long free_curves(const TopoDS_Shape& shape) {
    long count = 0;
    for (TopExp_Explorer at(shape, TopAbs_EDGE, TopAbs_FACE); at.More(); at.Next()) count += 1;
    return count;
}

void tessellate(const TopoDS_Shape& shape, double deflection, double angle) {
    Bnd_Box box;
    BRepBndLib::Add(shape, box, false);
    if (box.IsVoid()) return;
    const double diagonal = std::sqrt(box.SquareExtent());
    IMeshTools_Parameters parameters;
    parameters.Deflection = std::max(diagonal * deflection, 1e-7);
    parameters.Angle = angle * M_PI / 180.0;
    parameters.InParallel = false;
    // Triangles of the file itself are of unknown quality.
    parameters.CleanModel = true;
    BRepMesh_IncrementalMesh(shape, parameters);
}

void write(const Handle(TDocStd_Document) & document, const std::string& path) {
    RWGltf_CafWriter writer(path.c_str(), true);
    writer.ChangeCoordinateSystemConverter().SetInputLengthUnit(0.001);
    writer.ChangeCoordinateSystemConverter().SetInputCoordinateSystem(RWMesh_CoordinateSystem_Zup);
    writer.SetNodeNameFormat(RWMesh_NameFormat_Product);
    writer.SetTransformationFormat(RWGltf_WriterTrsfFormat_Mat4);
    writer.SetForcedUVExport(false);
    writer.SetMergeFaces(true);
    const TColStd_IndexedDataMapOfStringString about;
    if (!writer.Perform(document, about, Message_ProgressRange())) {
        throw std::runtime_error("the triangles cannot be written");
    }
}

Outcome convert(const std::string& input, const std::string& output, double deflection, double angle) {
    Handle(TDocStd_Document) document;
    XCAFApp_Application::GetApplication()->NewDocument("BinXCAF", document);
    Notes notes;
    switch (format_of(input)) {
        case Format::Step:
            read_step(input, document, notes);
            break;
        case Format::Iges:
            read_iges(input, document, notes);
            break;
        case Format::Brep:
            read_brep(input, document);
            break;
        case Format::Unknown:
            std::cerr << "its extension is none of step, stp, iges, igs and brep\n";
            return Outcome::WrongUse;
    }
    const TopoDS_Compound model = whole(document);
    tessellate(model, deflection, angle);
    const Counts counts = counts_of(model);
    const long curves = free_curves(model);
    note(notes, curves, "curve that belongs to no surface", "curves that belong to no surface");
    std::cout << counts.faces << ' ' << counts.faces_without_triangles << ' ' << counts.triangles << '\n';
    for (const std::string& note : notes) std::cout << note << '\n';
    if (counts.triangles == 0) {
        std::cerr << "it has no surfaces\n";
        return Outcome::Empty;
    }
    write(document, output);
    return Outcome::Written;
}

}  // namespace

extern "C" void end_of_time(int) {
    const char text[] = "its surfaces could not be worked out in reasonable time; the file is probably damaged\n";
    // If this cannot be written, the exit code says enough.
    [[maybe_unused]] const auto written = write(STDERR_FILENO, text, sizeof text - 1);
    _exit(static_cast<int>(Outcome::Unreadable));
}

// Ends the program with a reason after a minute of processor time, and a second more for each 20 kB of the file: damaged
// numbers let Open CASCADE work without end. A lower limit that is there already holds.
void limit_time(const char* path) {
    struct stat file {};
    const rlim_t bytes = stat(path, &file) == 0 ? static_cast<rlim_t>(file.st_size) : 0;
    rlimit limit{};
    if (getrlimit(RLIMIT_CPU, &limit) != 0) return;
    const rlim_t seconds = 60 + bytes / 20'000;
    if (seconds < limit.rlim_cur) {
        limit.rlim_cur = seconds;
        signal(SIGXCPU, end_of_time);
        setrlimit(RLIMIT_CPU, &limit);
    }
}

int main(int count, char** arguments) {
    if (count != 5) {
        std::cerr << "usage: assetfs-cad INPUT OUTPUT.glb DEFLECTION ANGLE\n";
        return static_cast<int>(Outcome::WrongUse);
    }
    const double deflection = std::atof(arguments[3]);
    const double angle = std::atof(arguments[4]);
    if (!(deflection > 0.0 && deflection < 1.0 && angle > 0.0 && angle < 180.0)) {
        std::cerr << "DEFLECTION must be between 0 and 1, and ANGLE between 0 and 180\n";
        return static_cast<int>(Outcome::WrongUse);
    }
    // Whoever waits for the result may be killed. Nobody would end this program then.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    limit_time(arguments[1]);
    // The reports of Open CASCADE are not for the user.
    Message::DefaultMessenger()->ChangePrinters().Clear();
    try {
        return static_cast<int>(convert(arguments[1], arguments[2], deflection, angle));
    } catch (const std::bad_alloc&) {
        std::cerr << "not enough memory\n";
        return static_cast<int>(Outcome::OutOfMemory);
    } catch (const Standard_OutOfMemory&) {
        std::cerr << "not enough memory\n";
        return static_cast<int>(Outcome::OutOfMemory);
    } catch (const Standard_Failure& failure) {
        std::cerr << failure.GetMessageString() << '\n';
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
    }
    return static_cast<int>(Outcome::Unreadable);
}
