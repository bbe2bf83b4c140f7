// Pictures of models in Dolphin: KIO starts this for files of the media types in assetfsthumbnail.json.
//
// `assetfs thumbnail` makes the picture in a process of its own: on a drive it is the service's, and no byte of the model
// is read. KDE Frameworks 5 starts no `.thumbnailer` programs, so it needs this library; it holds no other logic.

#include <KIO/ThumbnailCreator>
#include <KPluginFactory>

#include <QImage>
#include <QProcess>
#include <QStandardPaths>

// The program itself stops after 30 s.
constexpr int timeoutMs = 40'000;
constexpr int smallestSize = 16;
constexpr int largestSize = 1024;

class AssetfsThumbnail : public KIO::ThumbnailCreator
{
    Q_OBJECT

public:
    AssetfsThumbnail(QObject *parent, const QVariantList &args)
        : KIO::ThumbnailCreator(parent, args)
    {
    }

    KIO::ThumbnailResult create(const KIO::ThumbnailRequest &request) override
    {
        const QString program = QStandardPaths::findExecutable(QStringLiteral("assetfs"));
        if (program.isEmpty() || !request.url().isLocalFile()) {
            return KIO::ThumbnailResult::fail();
        }
        const QSize wanted = request.targetSize();
        const int size = qBound(smallestSize, qMax(wanted.width(), wanted.height()), largestSize);
        const QStringList args{QStringLiteral("thumbnail"),
                               QStringLiteral("--size"),
                               QString::number(size),
                               request.url().toLocalFile(),
                               QStringLiteral("/dev/stdout")};
        QProcess process;
        process.setStandardErrorFile(QProcess::nullDevice());
        process.start(program, args, QIODevice::ReadOnly);
        if (!process.waitForFinished(timeoutMs)) {
            process.kill();
            process.waitForFinished();
            return KIO::ThumbnailResult::fail();
        }
        QImage image;
        if (process.exitStatus() == QProcess::NormalExit && process.exitCode() == 0) {
            image.loadFromData(process.readAllStandardOutput(), "PNG");
        }
        return image.isNull() ? KIO::ThumbnailResult::fail() : KIO::ThumbnailResult::pass(image);
    }
};

K_PLUGIN_CLASS_WITH_JSON(AssetfsThumbnail, "assetfsthumbnail.json")

#include "assetfsthumbnail.moc"
