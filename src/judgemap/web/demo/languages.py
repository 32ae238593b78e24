"""The open study of the demonstration in the other languages that judges can choose."""

TRANSLATIONS = {
    "fr": {
        "title": "Essayer de juger",
        "question": "Dans quel quartier les loyers sont-ils plus BAS ?",
        "example": "Une étude pour essayer. Si vous pensez que les loyers sont plus bas à **Pullman** qu’au **Loop**, "
        "choisissez Pullman.",
        "consent": "La participation est volontaire et vous pouvez arrêter à tout moment. Nous conservons vos réponses "
        "et le temps qu’elles ont pris, sous un nom tiré au hasard ; nous ne demandons et ne conservons ni votre nom, "
        "ni votre adresse e-mail, ni votre adresse internet. Vous recevrez un code avec lequel supprimer vos réponses.",
        "thanks": "Merci.",
    },
    "es": {
        "title": "Probar a juzgar",
        "question": "¿En qué zona son más BAJOS los alquileres?",
        "example": "Un estudio de prueba. Si cree que los alquileres son más bajos en **Pullman** que en el **Loop**, "
        "elija Pullman.",
        "consent": "La participación es voluntaria y puede dejarlo en cualquier momento. Guardamos sus respuestas y el "
        "tiempo que ha tardado en darlas, con un nombre al azar; no pedimos ni guardamos su nombre, su correo "
        "electrónico ni su dirección de internet. Recibirá un código con el que puede eliminar sus respuestas.",
        "thanks": "Gracias.",
    },
    "ar": {
        "title": "جرّب المقارنة",
        "question": "في أي منطقة تكون الإيجارات أقل؟",
        "example": "دراسة للتجربة. إذا كنت ترى أن الإيجارات في **Pullman** أقل منها في **Loop** فاختر Pullman.",
        "consent": "المشاركة طوعية، ويمكنك التوقف في أي وقت. نحتفظ بإجاباتك وبالوقت الذي استغرقته تحت اسم عشوائي، ولا "
        "نطلب اسمك أو بريدك الإلكتروني أو عنوانك على الإنترنت ولا نحتفظ بها. ستحصل على رمز يمكنك به حذف إجاباتك.",
        "thanks": "شكرًا لك.",
    },
}
